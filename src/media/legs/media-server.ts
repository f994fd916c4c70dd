/**
 * Node's HTTP server with our limits: one request a connection; bytes that are no request are answered as far as possible,
 * and every connection is closed behind its answer. Node's own deadlines go by the system's clock.
 */
import { once } from 'node:events';
import { createServer, STATUS_CODES } from 'node:http';
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { PendingConnections } from '../../lib/connections/pending-connections.ts';
import type { Certificate } from '../../lib/tls-files.ts';
import { legRequestBytesMax, legRequestMsMax, legSilenceMsMax } from '../../model/limits.ts';
import { answerOf, methodNotAllowed, noRequest, requestTooLarge, type HttpRefusal } from './refusal.ts';
import { UpgradeRequest } from './upgrade-request.ts';

export type MediaServer = Server | TlsServer;

/** How often Node looks for connections whose time is up. */
const checkMs = 1000;

const limits: ServerOptions = {
  maxHeaderSize: legRequestBytesMax,
  // Up to the end of its request, body included, a connection has a deadline of ours.
  headersTimeout: legRequestMsMax,
  requestTimeout: legRequestMsMax,
  connectionsCheckingInterval: checkMs,
  // The receiver of a stream sends nothing: TCP keep-alive notices a dead one.
  keepAlive: true,
  keepAliveInitialDelay: legSilenceMsMax,
};

export interface MediaServerDeps {
  readonly pending: PendingConnections;
  /** A connection is there, and may be destroyed right after. */
  connected(socket: Socket): void;
  requested(request: UpgradeRequest): void;
}

/** `certificate`: null for plain connections. */
export function createMediaServer(certificate: Certificate | null, deps: MediaServerDeps): MediaServer {
  const server: Server =
    certificate === null ? createServer(limits) : createTlsServer({ ...limits, ...certificate });
  const { pending } = deps;
  const served = new WeakSet<Duplex>();
  const receive = (socket: Socket, request: () => UpgradeRequest): void => {
    if (served.has(socket)) socket.destroy();
    else deps.requested(request());
    served.add(socket);
  };
  const receivePlain = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    if (!hasBody(request)) pending.requested(socket);
    else request.once('end', () => pending.requested(socket));
    receive(socket, () => UpgradeRequest.plain(request, response));
  };
  return server
    .on('connection', (socket) => {
      socket.on('error', ignore);
      deps.connected(socket);
      pending.begin(socket);
    })
    .on('secureConnection', (socket: Socket) => socket.on('error', ignore))
    .on('request', receivePlain)
    .on('checkContinue', receivePlain)
    .on('checkExpectation', receivePlain)
    .on('upgrade', (request, _socket, head) => {
      pending.requested(request.socket);
      receive(request.socket, () => UpgradeRequest.upgrading(request, head));
    })
    .on('clientError', (error: NodeJS.ErrnoException, socket) => {
      const refusal = served.has(socket) ? null : refusalOfBroken(error.code);
      if (refusal === null || !socket.writable) socket.destroy();
      else answerBare(socket, refusal);
    });
}

/** Resolves to the real port. Rejects when the address cannot be had, or is another server's. */
export async function listenOn(
  server: MediaServer,
  host: string,
  port: number,
  backlog: number,
): Promise<number> {
  const listening = once(server, 'listening');
  server.listen({ host, port, backlog });
  try {
    await listening;
  } catch (cause) {
    throw new Error(`cannot listen on ${host}:${port}: in use, or not an address of this machine`, { cause });
  }
  return (server.address() as AddressInfo).port;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** The close event, which every socket has, is enough. */
function ignore(): void {}

/** Null: nobody is left to read an answer. */
function refusalOfBroken(code = ''): HttpRefusal | null {
  if (code === 'HPE_HEADER_OVERFLOW') return requestTooLarge;
  if (code === 'HPE_INVALID_METHOD') return methodNotAllowed;
  return code.startsWith('HPE_') ? noRequest : null;
}

/** Answers a request that could not be read. */
function answerBare(socket: Duplex, refusal: HttpRefusal): void {
  const { headers, body } = answerOf(refusal);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const status = `${refusal.status} ${STATUS_CODES[refusal.status] ?? ''}`;
  socket.end(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy());
}
