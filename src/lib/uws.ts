/**
 * The one import of uWebSockets.js. The repack on npm is an ES module with named exports; the official package
 * is CommonJS with a default: either works behind this file. Without its binary (another libc, another Node)
 * the process cannot serve, and says so in one sentence. See docs/adr/0002.
 */
import type * as Uws from 'uWebSockets.js';
import type {
  HttpRequest,
  HttpResponse,
  TemplatedApp,
  us_listen_socket,
  us_socket_context_t,
  WebSocket,
  WebSocketBehavior,
} from 'uWebSockets.js';

import type { TlsFiles } from './tls-files.ts';

export type {
  HttpRequest,
  HttpResponse,
  TemplatedApp,
  us_listen_socket,
  us_socket_context_t,
  WebSocket,
  WebSocketBehavior,
};

type UwsModule = typeof Uws;

async function load(): Promise<UwsModule> {
  try {
    const loaded = (await import('uWebSockets.js')) as UwsModule & { default?: UwsModule };
    return loaded.default ?? loaded;
  } catch (error) {
    throw new Error(
      `uWebSockets.js has no binary for Node ${process.versions.node} on ${process.platform}/${process.arch}: ` +
        `run on Node 20 or 22 on glibc Linux, macOS or Windows, or see "official uWebSockets.js" in README.md`,
      { cause: error },
    );
  }
}

const uws = await load();
// No header that names the library in answers. Its types leave this switch out.
(uws as unknown as { _cfg?(name: string): void })._cfg?.('silent');

/** Throws when the certificate's files are not in order. */
export function createApp(tls: TlsFiles | null = null): TemplatedApp {
  return tls === null ? uws.App() : uws.SSLApp({ cert_file_name: tls.certFile, key_file_name: tls.keyFile });
}

export const closeListenSocket = uws.us_listen_socket_close;
const localPort = uws.us_socket_local_port;

/** The binding takes (host, port, options, callback); its types leave this form out, and the constant. */
interface ListenWithOptions {
  listen(host: string, port: number, options: number, done: (socket: us_listen_socket | false) => void): void;
}
const exclusivePort = (uws as unknown as { LIBUS_LISTEN_EXCLUSIVE_PORT: number }).LIBUS_LISTEN_EXCLUSIVE_PORT;
/** The library's own way: every process of the same user that asks for it listens, and the kernel spreads connections. */
const sharedPort = 0;

export interface ListenSocket {
  readonly socket: us_listen_socket;
  /** The real port, also when 0 was asked for. */
  readonly port: number;
}

/** Listens on `host:port`, never sharing the port with another server. Rejects when the address cannot be had. */
export function listenExclusively(app: TemplatedApp, host: string, port: number): Promise<ListenSocket> {
  return new Promise((resolve) => resolve(listenAtOnce(app, host, port)));
}

/**
 * The same before it returns, for who closed another listen socket on the port in this turn. Throws when the address
 * cannot be had. A port that is to be listened on again must not have been got by asking for port 0: the library
 * marks only a port it was given as one that may be taken while connections to it live on. `isShared`: with whoever
 * else asks for the port in this way; that nobody does by mistake has been seen to before.
 */
export function listenAtOnce(app: TemplatedApp, host: string, port: number, isShared = false): ListenSocket {
  let listening: ListenSocket | null = null;
  (app as unknown as ListenWithOptions).listen(
    host,
    port,
    isShared ? sharedPort : exclusivePort,
    (socket) => {
      if (socket) listening = { socket, port: localPort(socket) };
    },
  );
  if (listening === null)
    throw new Error(`cannot listen on ${host}:${port}: in use, or not an address of this machine`);
  return listening;
}
