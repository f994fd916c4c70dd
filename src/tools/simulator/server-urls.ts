/**
 * The addresses at which controllers sign in, modules log in and the legs of calls connect, and the certificates that they
 * trust there; a controller adds the path to its URL. The media listener is sought where devices are told that it is.
 */
import type { ConnectionOptions } from 'node:tls';
import { formatListenAddress, parseListenAddress } from '../../lib/connections/listen-address.ts';
import { readRuntimeFile, type TlsListener } from '../../server/bootstrap/runtime-file.ts';
import { mediaUrl } from '../../server/config/derived-settings.ts';
import type { CommandContext } from '../../cli/shell/command-context.ts';
import { CommandError, usageError } from '../../cli/shell/command-error.ts';
import { listenerCertFile, reachableAddress } from '../../cli/admin/running-server.ts';
import { readListenerCertificate, trustingOnly } from '../../cli/shell/server-trust.ts';

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
  const address = listener === undefined ? null : parseListenAddress(listener);
  return mediaUrl(settings, address === null ? null : { process: 0, address, advertise: null });
}

export interface SignalChoice {
  /** `host:port`, or a URL beginning with `ws://` or `wss://`. */
  readonly signal?: string;
  /** The sleep server that was named: `host:port` or `tls://host:port`. */
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
function ownSignalUrl(context: CommandContext): string | null {
  const running = readRuntimeFile(context.dataDirectory);
  const listener =
    running === null ? formatListenAddress(context.settings.signal.listen) : running.listeners.signal;
  const scheme = listenerCertFile(context, 'signal') === null ? 'ws' : 'wss';
  return listener === undefined ? null : listenerUrl(scheme, listener);
}

/**
 * The TLS options for a listener of the local server: `trust`, else the listener's own certificate alone. Null: it speaks no
 * TLS. Throws a CommandError when the certificate cannot be read.
 */
export function localTrust(
  context: CommandContext,
  name: TlsListener,
  trust: ConnectionOptions | undefined,
): ConnectionOptions | null {
  const certFile = listenerCertFile(context, name);
  if (certFile === null) return null;
  const read = (): ConnectionOptions =>
    trustingOnly(readListenerCertificate(`the ${name} listener`, certFile, 'trust it with --ca FILE'));
  return trust ?? read();
}

/** For the media listener that `findMediaUrl` gives: as `localTrust` has it, where none was named. */
export function mediaTrust(
  context: CommandContext,
  media: string | undefined,
  trust: ConnectionOptions | undefined,
): ConnectionOptions | undefined {
  return (media === undefined ? localTrust(context, 'media', trust) : null) ?? trust;
}

export interface SleepServer {
  /** `host:port`; undefined: as controllers are told. */
  readonly address: string | undefined;
  /** Null: plain TCP. */
  readonly tls: ConnectionOptions | null;
}

/** The sleep server that was named, `host:port` or `tls://host:port`, else that of the local server. Throws a usage error. */
export function findSleepServer(
  context: CommandContext,
  { signal, server }: SignalChoice,
  trust: ConnectionOptions | undefined,
): SleepServer {
  if (server === undefined)
    return { address: undefined, tls: signal === undefined ? localTrust(context, 'sleep', trust) : null };
  const address = server.replace(/^tls:\/\//, '');
  if (!(Number(parseListenAddress(address)?.port) > 0))
    throw usageError(`--server ${server}: expected host:port or tls://host:port`);
  return { address, tls: address === server ? null : (trust ?? {}) };
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
