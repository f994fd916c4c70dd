/**
 * A Node HTTP server with this server's limits: unauthenticated connections are bounded and evicted by the rule of `Crowd`, each
 * first request has a deadline, and malformed bytes are answered where possible. Node's own deadlines use the system's clock.
 */
import { once } from 'node:events';
import { createServer, STATUS_CODES } from 'node:http';
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { cannotListen } from './listen-address.ts';
import { acceptBacklog } from '../accept-queue.ts';
import type { Clock } from '../clock.ts';
import { readCertificate, type TlsFiles } from './tls-files.ts';
import { PendingConnections, type ConnectionEnds } from './pending-connections.ts';
import { readInSlices } from './sliced-reading.ts';

const checkMs = 1000;

export interface BoundedServerSettings {
  readonly tls: TlsFiles | null;
  /** Request line and headers. */
  readonly headBytesMax: number;
  /** Deadline of the first request from the connection on, TLS and body included; then of each further request. */
  readonly requestMsMax: number;
  /** Idle time between two requests of a connection; 0: one request per connection, and each answer closes it. */
  readonly keepAliveMs: number;
  /** TCP keep-alive probes begin after this much silence; 0: none. */
  readonly tcpProbeMs: number;
  /** Unauthenticated connections per address (IPv6: per /64); 0: unlimited, as behind a proxy. */
  readonly perAddressMax: number;
  /** True: a connection may be evicted at once, where authentication takes no time. Default: after a grace. */
  readonly evictsAtOnce?: boolean;
  /** Current limit of unauthenticated connections. */
  max(): number;
}

/** `method`: an unknown HTTP method, or CONNECT, which is for proxies. */
export type RequestFault = 'malformed' | 'too-large' | 'method';

export interface BareAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface RequestReceiver {
  /** A request without an upgrade. With one request per connection, `Expect: 100-continue` is left unanswered. */
  requested(request: IncomingMessage, response: ServerResponse): void;
  /** The receiver answers on the socket and reads it. `head`: bytes after the request. Undefined: upgrades are ordinary requests. */
  upgrading?(request: IncomingMessage, head: Buffer): void;
  /** The answer to malformed bytes, with a Content-Length; the connection is closed. */
  answerOf(fault: RequestFault): BareAnswer;
  closed?(): void;
  failed(error: Error): void;
}

export class BoundedServer {
  /** For the rest of Node's interface; requests go to the receiver. */
  readonly server: Server | TlsServer;
  readonly #tls: TlsFiles | null;
  readonly #receiver: RequestReceiver;
  readonly #pending: PendingConnections;
  readonly #connections = new Set<Socket>();
  /** The response to the last request of a connection. */
  readonly #lastResponses = new WeakMap<Duplex, ServerResponse>();
  /** After an upgrade, CONNECT or an error the parser is freed, or serves another connection. */
  readonly #endSlices = new WeakMap<Duplex, () => void>();
  readonly #hasOneRequest: boolean;
  /** One for all sockets: a closure for each would take 100 bytes. */
  readonly #onClose: (this: Socket) => void;
  #fingerprint: string | null;
  #port = 0;

  /** Throws when TLS is configured and its files are unusable. */
  constructor(clock: Clock, settings: BoundedServerSettings, receiver: RequestReceiver) {
    const certificate = readCertificate(settings.tls);
    const options = serverOptions(settings);
    this.#tls = settings.tls;
    this.#receiver = receiver;
    this.#hasOneRequest = settings.keepAliveMs === 0;
    const closed = (socket: Socket): void => this.#closed(socket);
    this.#onClose = function () {
      closed(this);
    };
    this.#fingerprint = certificate?.fingerprint ?? null;
    const { requestMsMax: waitMs, perAddressMax, evictsAtOnce = false } = settings;
    const max = (): number => settings.max();
    this.#pending = new PendingConnections(clock, { waitMs, perAddressMax, evictsAtOnce, max });
    this.server =
      certificate === null ? createServer(options) : createTlsServer({ ...options, ...certificate });
    this.#serve();
  }

  /** The bound port; 0: not listening. */
  get port(): number {
    return this.#port;
  }

  /** SHA-256 of the certificate; null: plain HTTP. */
  get fingerprint(): string | null {
    return this.#fingerprint;
  }

  /** Open connections, upgraded ones included. */
  get connectionCount(): number {
    return this.#connections.size;
  }

  get unprovedCount(): number {
    return this.#pending.unprovedCount;
  }

  get refused(): number {
    return this.#pending.refused;
  }

  get evicted(): number {
    return this.#pending.evicted;
  }

  /** Authenticates the connection of this socket: it is never evicted from now on. */
  proved(socket: ConnectionEnds): void {
    this.#pending.proved(socket);
  }

  /** Authenticates the connection and lifts the deadline of its first request. */
  released(socket: ConnectionEnds): void {
    this.#pending.requested(socket);
    this.#pending.proved(socket);
  }

  /** Resolves to the bound port. Rejects when the address is invalid or in use. */
  async listen(host: string, port: number): Promise<number> {
    const { server } = this;
    const listening = once(server, 'listening');
    server.listen({ host, port, backlog: acceptBacklog });
    try {
      await listening;
    } catch (cause) {
      throw cannotListen({ host, port }, cause);
    }
    server.on('error', (error) => this.#receiver.failed(error));
    this.#port = (server.address() as AddressInfo).port;
    return this.#port;
  }

  /** Reloads the certificate for new connections. Throws, and changes nothing, when its files are unusable. */
  reloadTls(): void {
    const certificate = readCertificate(this.#tls);
    if (certificate === null) return;
    (this.server as TlsServer).setSecureContext(certificate);
    this.#fingerprint = certificate.fingerprint;
  }

  stopListening(): void {
    this.#port = 0;
    this.server.close();
  }

  close(): void {
    this.stopListening();
    for (const socket of this.#connections) socket.destroy();
  }

  #serve(): void {
    const { server } = this;
    const requested = (request: IncomingMessage, response: ServerResponse): void =>
      this.#requested(request, response);
    server
      .on('connection', (socket: Socket) => this.#connected(socket))
      .on('secureConnection', (socket: Socket) => {
        socket.on('error', ignore);
        this.#endSlices.set(socket, readInSlices(socket));
      })
      .on('request', requested)
      .on('connect', (_request, socket) => {
        this.#endSlice(socket);
        this.#answerFault(socket, 'method');
      })
      .on('clientError', (error: NodeJS.ErrnoException, socket) => {
        this.#endSlice(socket);
        const fault = faultOf(error.code);
        if (fault === null || !socket.writable || !this.#isQuiet(socket)) socket.destroy();
        else this.#answerFault(socket, fault);
      });
    if (this.#hasOneRequest) server.on('checkContinue', requested).on('checkExpectation', requested);
    if (this.#receiver.upgrading !== undefined)
      server.on('upgrade', (request, _socket, head) => {
        this.#endSlice(request.socket);
        this.#pending.requested(request.socket);
        if (this.#mayAsk(request.socket)) this.#receiver.upgrading?.(request, head);
      });
  }

  /** Forgets the parser, too: it would cost as much memory as the rest of an upgraded connection's listeners. */
  #endSlice(socket: Duplex): void {
    this.#endSlices.get(socket)?.();
    this.#endSlices.delete(socket);
  }

  #connected(socket: Socket): void {
    this.#connections.add(socket);
    this.#endSlices.set(socket, readInSlices(socket));
    socket.on('error', ignore).on('close', this.#onClose);
    this.#pending.begin(socket);
  }

  #closed(socket: Socket): void {
    this.#connections.delete(socket);
    this.#pending.closed(socket);
    this.#receiver.closed?.();
  }

  #requested(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    if (!hasBody(request)) this.#pending.requested(socket);
    else request.once('end', () => this.#pending.requested(socket));
    if (!this.#mayAsk(socket)) return;
    this.#lastResponses.set(socket, response);
    this.#receiver.requested(request, response);
  }

  /** False: the connection has already had its only request, and is closed. */
  #mayAsk(socket: Socket): boolean {
    const mayAsk = !this.#hasOneRequest || !this.#lastResponses.has(socket);
    if (!mayAsk) socket.destroy();
    return mayAsk;
  }

  /** True: no other answer is under way, and another one may be sent. */
  #isQuiet(socket: Duplex): boolean {
    const last = this.#lastResponses.get(socket);
    return last === undefined || (!this.#hasOneRequest && last.writableFinished);
  }

  #answerFault(socket: Duplex, fault: RequestFault): void {
    endBare(socket, this.#receiver.answerOf(fault));
  }
}

/** Answers on a socket for which Node has no response object, and closes it. `hasBody`: false in the answer to a HEAD. */
export function endBare(socket: Duplex, { status, headers, body }: BareAnswer, hasBody = true): void {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n`;
  socket.end(hasBody ? `${head}${body}` : head, () => socket.destroy());
}

function serverOptions(settings: BoundedServerSettings): ServerOptions {
  const { headBytesMax, requestMsMax, keepAliveMs, tcpProbeMs } = settings;
  return {
    maxHeaderSize: headBytesMax,
    headersTimeout: requestMsMax,
    requestTimeout: requestMsMax,
    connectionsCheckingInterval: checkMs,
    ...(keepAliveMs > 0 && { keepAliveTimeout: keepAliveMs }),
    keepAlive: tcpProbeMs > 0,
    keepAliveInitialDelay: tcpProbeMs,
  };
}

export function hasBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** Errors need no handling: every socket emits `close`. */
function ignore(): void {}

/** Null: the peer is gone and cannot read an answer. */
function faultOf(code = ''): RequestFault | null {
  if (code === 'HPE_HEADER_OVERFLOW') return 'too-large';
  if (code === 'HPE_INVALID_METHOD') return 'method';
  return code.startsWith('HPE_') ? 'malformed' : null;
}
