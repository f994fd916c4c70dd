/**
 * The URLs at which controllers sign in and the legs of calls connect; a controller adds the path to its own. The media
 * listener is sought where devices are told that it is.
 */
import { formatListenAddress, parseListenAddress } from '../../model/settings-values.ts';
import { readRuntimeFile } from '../../server/bootstrap/runtime-file.ts';
import { mediaUrl } from '../../server/config/derived-settings.ts';
import type { CommandContext } from '../../cli/shell/command-context.ts';
import { CommandError, usageError } from '../../cli/shell/command-error.ts';
import { reachableAddress } from '../../cli/admin/running-server.ts';

/**
 * `media`: the listener that was named, `host:port` or a URL beginning with `ws://` or `wss://`; undefined: what devices
 * of the running server are told, else as the settings have it. Throws a CommandError.
 */
export function findMediaUrl(context: CommandContext, media: string | undefined): string {
  const url = media === undefined ? toldMediaUrl(context) : parseUrl('media', media);
  if (url !== null) return url;
  throw new CommandError(
    'neither the running server nor media.advertise says where the media listener is',
    'name it with --media host:port',
  );
}

/** Null: nobody says. */
function toldMediaUrl({ settings, dataDirectory }: CommandContext): string | null {
  const listener = readRuntimeFile(dataDirectory)?.listeners.media;
  return mediaUrl(settings, listener === undefined ? null : parseListenAddress(listener));
}

export interface SignalChoice {
  /** `host:port`, or a URL beginning with `ws://` or `wss://`. */
  readonly signal?: string;
  /** The sleep server that was named. */
  readonly server?: string;
}

/**
 * The listener that was named, else that of the running server, else as the settings have it; null when only a
 * sleep server was named, which may be anywhere, or the running server has none. Throws a usage error.
 */
export function findSignalUrl(context: CommandContext, { signal, server }: SignalChoice): string | null {
  if (signal !== undefined) return parseUrl('signal', signal);
  return server === undefined ? ownSignalUrl(context) : null;
}

/** `listener`: `host:port`, as it listens. */
export function listenerUrl(scheme: 'ws' | 'wss', listener: string): string {
  return `${scheme}://${reachableAddress(listener)}`;
}

/** Null: the running server does not say. */
function ownSignalUrl({ settings, dataDirectory }: CommandContext): string | null {
  const { listen, tls_cert_file: certificate } = settings.signal;
  const running = readRuntimeFile(dataDirectory);
  const listener = running === null ? formatListenAddress(listen) : running.listeners.signal;
  return listener === undefined ? null : listenerUrl(certificate === null ? 'ws' : 'wss', listener);
}

/** A proxy may have the signal listener behind a path of its own. */
const urlForms = { media: /^wss?:\/\/[^/?#]+\/?$/, signal: /^wss?:\/\// } as const;

function parseUrl(name: 'media' | 'signal', text: string): string {
  if (urlForms[name].test(text) && URL.canParse(text)) return text;
  const address = parseListenAddress(text);
  if (address === null || address.port === 0)
    throw usageError(`--${name} ${text}: expected host:port, ws://host:port or wss://host:port`);
  return `ws://${text}`;
}
