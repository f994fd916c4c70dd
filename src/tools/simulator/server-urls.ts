/** The URLs at which controllers sign in and the legs of calls connect. */
import { formatListenAddress, parseListenAddress } from '../../server/config/settings-values.ts';
import { readRuntimeFile } from '../../server/bootstrap/runtime-file.ts';
import type { CommandContext } from '../../cli/shell/command-context.ts';
import { CommandError, usageError } from '../../cli/shell/command-error.ts';
import { reachableAddress } from '../../cli/admin/running-server.ts';

/**
 * `media`: the listener that was named, `host:port` or a URL beginning with `ws://` or `wss://`; undefined: that of the
 * running server, else as the settings have it. Throws a CommandError.
 */
export function findMediaUrl(context: CommandContext, media: string | undefined): string {
  if (media !== undefined) return parseMediaUrl(media);
  const { listen, tls_cert_file: certificate } = context.settings.media;
  const running = readRuntimeFile(context.dataDirectory);
  const listener = running === null ? formatListenAddress(listen) : running.listeners['media'];
  if (listener === undefined)
    throw new CommandError(
      'the running server does not say where its media listener is',
      'name it with --media host:port',
    );
  return mediaUrl(certificate === null ? 'ws' : 'wss', listener);
}

/** `listener`: `host:port`, as it listens. */
export function mediaUrl(scheme: 'ws' | 'wss', listener: string): string {
  return `${scheme}://${reachableAddress(listener)}`;
}

function parseMediaUrl(text: string): string {
  if (/^wss?:\/\/[^/?#]+\/?$/.test(text) && URL.canParse(text)) return text;
  const address = parseListenAddress(text);
  if (address === null || address.port === 0)
    throw usageError(`--media ${text}: expected host:port, ws://host:port or wss://host:port`);
  return `ws://${text}`;
}

const signalPath = '/v1/signal';

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
  if (signal !== undefined) return parseSignalUrl(signal);
  if (server !== undefined) return null;
  const { listen, tls_cert_file: certificate } = context.settings.signal;
  const running = readRuntimeFile(context.dataDirectory);
  const listener = running === null ? formatListenAddress(listen) : running.listeners['signal'];
  return listener === undefined
    ? null
    : signalUrl(certificate === null ? 'ws' : 'wss', reachableAddress(listener));
}

/** `address`: `host:port`. */
export function signalUrl(scheme: 'ws' | 'wss', address: string): string {
  return `${scheme}://${address}${signalPath}`;
}

function parseSignalUrl(text: string): string {
  if (/^wss?:\/\//.test(text) && URL.canParse(text)) {
    const url = new URL(text);
    if (url.pathname === '/') url.pathname = signalPath;
    return url.href;
  }
  const address = parseListenAddress(text);
  if (address === null || address.port === 0)
    throw usageError(`--signal ${text}: expected host:port, ws://host:port or wss://host:port`);
  return signalUrl('ws', text);
}
