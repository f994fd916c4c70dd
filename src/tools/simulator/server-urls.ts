/**
 * Addresses and trusted certificates of the signal, sleep and media listeners for simulated connections. The media address is
 * the one advertised to devices.
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
 * `media`: `host:port`, or a `ws://` or `wss://` URL. Default: the address that the running server advertises to devices, else
 * that of the settings. Throws a CommandError.
 */
export function findMediaUrl(context: CommandContext, media: string | undefined): string {
  const url = media === undefined ? advertisedMediaUrl(context) : parseUrl('media', media);
  if (url !== null) return url;
  throw new CommandError(
    'no media listener is known: no running server, and media.advertise is not set',
    'name it with --media host:port',
  );
}

function advertisedMediaUrl({ settings, dataDirectory }: CommandContext): string | null {
  const listener = readRuntimeFile(dataDirectory)?.listeners.media;
  const address = listener === undefined ? null : parseListenAddress(listener);
  return mediaUrl(settings, address === null ? null : { process: 0, address, advertise: null });
}

export interface SignalChoice {
  /** `host:port`, or a `ws://` or `wss://` URL. */
  readonly signal?: string;
  /** `host:port` or `tls://host:port`. */
  readonly server?: string;
}

/**
 * Returns the named listener, else that of the running server, else that of the settings. Null: only a sleep server is named,
 * which may be anywhere, or the running server has none. Throws a usage error.
 */
export function findSignalUrl(context: CommandContext, { signal, server }: SignalChoice): string | null {
  if (signal !== undefined) return parseUrl('signal', signal);
  return server === undefined ? ownSignalUrl(context) : null;
}

/** `listener`: `host:port`, possibly with a wildcard host. */
export function listenerUrl(scheme: 'ws' | 'wss', listener: string): string {
  return `${scheme}://${reachableAddress(listener)}`;
}

/** Null: the running server has no signal listener. */
function ownSignalUrl(context: CommandContext): string | null {
  const running = readRuntimeFile(context.dataDirectory);
  const listener =
    running === null ? formatListenAddress(context.settings.signal.listen) : running.listeners.signal;
  const scheme = listenerCertFile(context, 'signal') === null ? 'ws' : 'wss';
  return listener === undefined ? null : listenerUrl(scheme, listener);
}

/**
 * TLS options for a listener of the local server: `trust`, else only the listener's own certificate. Null: no TLS. Throws a
 * CommandError when the certificate cannot be read.
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

/** TLS options for the listener of `findMediaUrl`: those of `localTrust` unless `media` names one. */
export function mediaTrust(
  context: CommandContext,
  media: string | undefined,
  trust: ConnectionOptions | undefined,
): ConnectionOptions | undefined {
  return (media === undefined ? localTrust(context, 'media', trust) : null) ?? trust;
}

export interface SleepServer {
  /** `host:port`; undefined: the one assigned to the controllers. */
  readonly address: string | undefined;
  readonly tls: ConnectionOptions | null;
}

/** Returns the named sleep server, else that of the local server. Throws a usage error. */
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

/** The signal URL may have a path, behind a proxy. */
const urlForms = { media: /^wss?:\/\/[^/?#]+\/?$/, signal: /^wss?:\/\// } as const;

function parseUrl(name: 'media' | 'signal', text: string): string {
  if (urlForms[name].test(text) && URL.canParse(text)) return text;
  const address = parseListenAddress(text);
  if (address === null || address.port === 0)
    throw usageError(`--${name} ${text}: expected host:port, ws://host:port or wss://host:port`);
  return `ws://${text}`;
}
