/**
 * An HTTP server of Node with our limits: connections without a proof are bounded and evicted by the rule of `Crowd`, the first
 * request of each has a deadline, and bytes that are no request are answered as far as possible. Node's own deadlines use
 * the system's clock.
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

/** Interval of Node's check for connections whose time is up. */
const checkMs = 1000;

export interface BoundedServerSettings {
  /** Null: plain connections. */
  readonly tls: TlsFiles | null;
  /** Request line and headers. */
  readonly headBytesMax: number;
  /** From the connection to the end of its first request, TLS and the body included; then for each further request. */
  readonly requestMsMax: number;
  /** Idle time between two requests of a connection; 0: a connection has one request, and every answer closes it. */
  readonly keepAliveMs: number;
  /** TCP probes a peer that has sent nothing for so long; 0: it does not. */
  readonly tcpProbeMs: number;
  /** Unproved connections of one address (IPv6: one /64); 0: no such bound, as it must be behind a proxy. */
  readonly perAddressMax: number;
  /** True: a connection may be closed for a newcomer as soon as it is there, where a proof takes no time. */
  readonly evictsAtOnce?: boolean;
  /** Unproved connections, at present. */
  max(): number;
}

/** `method`: a method that HTTP does not have, or CONNECT, which is for proxies. */
export type RequestFault = 'malformed' | 'too-large' | 'method';

export interface BareAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface RequestReceiver {
  /** Without an upgrade. Where a connection has one request, one that expects 100-continue has not been sent it. */
  requested(request: IncomingMessage, response: ServerResponse): void;
  /** Its socket is the receiver's to answer and to read. `head`: bytes behind the request. Undefined: an upgrade is an ordinary request. */
  upgrading?(request: IncomingMessage, head: Buffer): void;
  /** The answer to bytes that are no request, with a Content-Length; its connection is closed. */
  answerOf(fault: RequestFault): BareAnswer;
  /** A connection has closed. */
  closed?(): void;
  /** The server failed while it listened. */
  failed(error: Error): void;
}

export class BoundedServer {
  /** For what Node offers beside this; requests go to the receiver. */
  readonly server: Server | TlsServer;
  readonly #tls: TlsFiles | null;
  readonly #receiver: RequestReceiver;
  readonly #pending: PendingConnections;
  readonly #connections = new Set<Socket>();
  /** The response to the last request of a connection; null: its socket is the receiver's. */
  readonly #lastResponses = new WeakMap<Duplex, ServerResponse | null>();
  /** Its parser is no more, or may be another connection's, behind an upgrade, CONNECT and an error. */
  readonly #endSlices = new WeakMap<Duplex, () => void>();
  readonly #hasOneRequest: boolean;
  #fingerprint: string | null;
  #port = 0;

  /** Throws when TLS is asked for and its files are not in order. */
  constructor(clock: Clock, settings: BoundedServerSettings, receiver: RequestReceiver) {
    const certificate = readCertificate(settings.tls);
    const options = serverOptions(settings);
    this.#tls = settings.tls;
    this.#receiver = receiver;
    this.#hasOneRequest = settings.keepAliveMs === 0;
    this.#fingerprint = certificate?.fingerprint ?? null;
    const { requestMsMax: waitMs, perAddressMax, evictsAtOnce = false } = settings;
    const max = (): number => settings.max();
    this.#pending = new PendingConnections(clock, { waitMs, perAddressMax, evictsAtOnce, max });
    this.server =
      certificate === null ? createServer(options) : createTlsServer({ ...options, ...certificate });
    this.#serve();
  }

  /** The real one; 0 while it does not listen. */
  get port(): number {
    return this.#port;
  }

  /** SHA-256 of the certificate; null: connections are plain. */
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

  /** Number of connections that were closed when they arrived, since the start. */
  get refused(): number {
    return this.#pending.refused;
  }

  /** Number of connections that were closed for a newcomer, since the start. */
  get evicted(): number {
    return this.#pending.evicted;
  }

  /** The connection of this socket is never closed for a newcomer from now on. */
  proved(socket: ConnectionEnds): void {
    this.#pending.proved(socket);
  }

  /** The same, and its first request may take its time from now on. */
  released(socket: ConnectionEnds): void {
    this.#pending.requested(socket);
    this.#pending.proved(socket);
  }

  /** Resolves to the real port. Rejects when the address cannot be had, or is another server's. */
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

  /** Reads the certificate for connections to come. Throws, and changes nothing, when its files are not in order. */
  reloadTls(): void {
    const certificate = readCertificate(this.#tls);
    if (certificate === null) return;
    (this.server as TlsServer).setSecureContext(certificate);
    this.#fingerprint = certificate.fingerprint;
  }

  /** Accepts no more connections; the open ones continue. */
  stopListening(): void {
    this.#port = 0;
    this.server.close();
  }

  /** Destroys every connection. */
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
        this.#endSlices.get(socket)?.();
        this.#answerFault(socket, 'method');
      })
      .on('clientError', (error: NodeJS.ErrnoException, socket) => {
        this.#endSlices.get(socket)?.();
        const fault = faultOf(error.code);
        if (fault === null || !socket.writable || !this.#isQuiet(socket)) socket.destroy();
        else this.#answerFault(socket, fault);
      });
    if (this.#hasOneRequest) server.on('checkContinue', requested).on('checkExpectation', requested);
    if (this.#receiver.upgrading !== undefined)
      server.on('upgrade', (request, _socket, head) => {
        this.#endSlices.get(request.socket)?.();
        this.#pending.requested(request.socket);
        if (this.#mayAsk(request.socket, null)) this.#receiver.upgrading?.(request, head);
      });
  }

  #connected(socket: Socket): void {
    this.#connections.add(socket);
    this.#endSlices.set(socket, readInSlices(socket));
    socket.on('error', ignore).on('close', () => {
      this.#connections.delete(socket);
      this.#pending.closed(socket);
      this.#receiver.closed?.();
    });
    this.#pending.begin(socket);
  }

  #requested(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    if (!hasBody(request)) this.#pending.requested(socket);
    else request.once('end', () => this.#pending.requested(socket));
    if (this.#mayAsk(socket, response)) this.#receiver.requested(request, response);
  }

  /** False, and it is closed: it has had its only request. */
  #mayAsk(socket: Socket, response: ServerResponse | null): boolean {
    const mayAsk = !this.#hasOneRequest || !this.#lastResponses.has(socket);
    if (mayAsk) this.#lastResponses.set(socket, response);
    else socket.destroy();
    return mayAsk;
  }

  /** No other answer is on its way, and one more may be sent. */
  #isQuiet(socket: Duplex): boolean {
    const last = this.#lastResponses.get(socket);
    return last === undefined || (!this.#hasOneRequest && last?.writableFinished === true);
  }

  #answerFault(socket: Duplex, fault: RequestFault): void {
    endBare(socket, this.#receiver.answerOf(fault));
  }
}

/** Answers on a socket that no response of Node's is for, and closes it. `hasBody`: false in the answer to a HEAD. */
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

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** Every socket has a close event, which is enough. */
function ignore(): void {}

/** Null: nobody is left to read an answer. */
function faultOf(code = ''): RequestFault | null {
  if (code === 'HPE_HEADER_OVERFLOW') return 'too-large';
  if (code === 'HPE_INVALID_METHOD') return 'method';
  return code.startsWith('HPE_') ? 'malformed' : null;
}
