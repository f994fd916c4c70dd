/**
 * The WebSockets of the signal listener in an app of the library: upgrades, an answer to every other request, and the events
 * of the sockets, which go to an owner that stands on the socket itself. Every refusal closes its connection. Everything that
 * the library would do by itself beside frames is off: timeouts, pings, compression. Source: signal-wire.md.
 */
import type {
  HttpRequest,
  HttpResponse,
  TemplatedApp,
  us_socket_context_t,
  WebSocket,
  WebSocketBehavior,
} from '../../lib/uws.ts';
import type { HttpConnections } from '../../lib/connections/http-connections.ts';
import { signalBackpressureBytesMax, signalFrameBytesMax } from '../../model/limits.ts';
import type { SignalEndReason } from '../../model/signal.ts';
import { type SignalClose, encodeBye } from '../../protocol/signal/server-message.ts';

export interface WebSocketAppDeps {
  readonly upgradeHandler: UpgradeHandler;
  /** Connections that are not upgraded. */
  readonly connections: HttpConnections;
  opened(socket: FrameSocket, tag: SocketTag): void;
}

export function furnishWebSocketApp(app: TemplatedApp, deps: WebSocketAppDeps): void {
  const { upgradeHandler } = deps;
  deps.connections
    .watch(app)
    .ws('/*', behavior(deps))
    .any('/*', (response, request) => {
      if (deps.connections.reached(response)) upgradeHandler.refuse(response, request);
    });
}

function behavior(deps: WebSocketAppDeps): WebSocketBehavior<SocketTag> {
  return {
    maxPayloadLength: signalFrameBytesMax,
    maxBackpressure: signalBackpressureBytesMax,
    closeOnBackpressureLimit: false,
    idleTimeout: 0,
    maxLifetime: 0,
    sendPingsAutomatically: false,
    compression: 0,
    upgrade: (response, request, context) => {
      if (deps.connections.reached(response)) deps.upgradeHandler.upgrade(response, request, context);
    },
    open: (socket) => deps.opened(socket, socket.getUserData()),
    message: onMessage,
    ping: onPing,
    pong: onPong,
    close: onClose,
  };
}

function onMessage(socket: WebSocket<SocketTag>, message: ArrayBuffer, isBinary: boolean): void {
  socket.getUserData().owner?.received(new Uint8Array(message), isBinary);
}

function onPing(socket: WebSocket<SocketTag>): void {
  socket.getUserData().owner?.pinged();
}

function onPong(socket: WebSocket<SocketTag>): void {
  socket.getUserData().owner?.ponged();
}

function onClose(socket: WebSocket<SocketTag>, code: number, message: ArrayBuffer): void {
  socket.getUserData().owner?.gone(socketEnd(code, Buffer.from(message).toString('latin1')));
}

export interface UpgradeHandlerDeps {
  /** The request of this address is whole; false: there is no room for another handshake of it. */
  admitsHandshake(address: string): boolean;
  addressOf(response: HttpResponse): string;
}

interface Refusal {
  readonly status: string;
  readonly sentence: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const path = '/v1/signal';
const subprotocol = 'reveille.signal.v1';
/** The shortest wait that the welcome asks of controllers. */
const retryAfterS = 2;

const notFound: Refusal = { status: '404 Not Found', sentence: 'nothing is here' };
const upgradeRequired: Refusal = {
  status: '426 Upgrade Required',
  sentence: `this is a WebSocket endpoint: upgrade with version 13 and the subprotocol ${subprotocol}`,
  headers: { Upgrade: 'websocket', 'Sec-WebSocket-Version': '13' },
};
const badKey: Refusal = {
  status: '400 Bad Request',
  sentence: 'the upgrade is a GET with a Sec-WebSocket-Key of 24 characters',
};
const noSubprotocol: Refusal = {
  status: '400 Bad Request',
  sentence: `the upgrade must offer the subprotocol ${subprotocol} in Sec-WebSocket-Protocol`,
};
const noRoom: Refusal = {
  status: '503 Service Unavailable',
  sentence: 'too many connections log in at the moment, or the server is about to stop',
  headers: { 'Retry-After': String(retryAfterS) },
};

export class UpgradeHandler {
  readonly #deps: UpgradeHandlerDeps;

  constructor(deps: UpgradeHandlerDeps) {
    this.#deps = deps;
  }

  /** A GET with a well-formed Sec-WebSocket-Key. Upgrades it, or answers it, before it returns. */
  upgrade(response: HttpResponse, request: HttpRequest, context: us_socket_context_t): void {
    const address = this.#deps.addressOf(response);
    const refusal = refuseUpgrade(request);
    if (refusal !== null) answer(response, refusal);
    else if (!this.#deps.admitsHandshake(address)) answer(response, noRoom);
    else {
      const tag: SocketTag = { owner: null, address };
      // No extensions: compression is off, whatever is offered.
      response.upgrade(tag, request.getHeader('sec-websocket-key'), subprotocol, '', context);
    }
  }

  /** Every other request. */
  refuse(response: HttpResponse, request: HttpRequest): void {
    if (!isOurs(request)) answer(response, notFound);
    else answer(response, asksForWebSocket(request) ? badKey : upgradeRequired);
  }
}

function refuseUpgrade(request: HttpRequest): Refusal | null {
  if (!isOurs(request)) return notFound;
  if (!asksForWebSocket(request) || request.getHeader('sec-websocket-version') !== '13')
    return upgradeRequired;
  return offeredProtocols(request).includes(subprotocol) ? null : noSubprotocol;
}

function isOurs(request: HttpRequest): boolean {
  const url = request.getUrl();
  return url === path || url === `${path}/`;
}

function asksForWebSocket(request: HttpRequest): boolean {
  return request.getHeader('upgrade').toLowerCase() === 'websocket';
}

/** The header may be given more than once, and `getHeader` knows one of them. */
function offeredProtocols(request: HttpRequest): string[] {
  const offered: string[] = [];
  request.forEach((key, value) => {
    if (key === 'sec-websocket-protocol') offered.push(...value.split(',').map((name) => name.trim()));
  });
  return offered;
}

/**
 * In the next turn: to who has sent another request by then the library closes the connection, and else it would hand
 * over every one that came with the first.
 */
function answer(response: HttpResponse, { status, sentence, headers = {} }: Refusal): void {
  let isGone = false;
  response.onAborted(() => (isGone = true));
  const write = (): void => {
    response.writeStatus(status).writeHeader('Content-Type', 'text/plain; charset=utf-8');
    for (const [name, value] of Object.entries(headers)) response.writeHeader(name, value);
    response.end(`${sentence}\n`, true);
  };
  setImmediate(() => {
    if (!isGone) response.cork(write);
  });
}

/** A finished handshake hands its socket over by changing one field. */
export interface SocketOwner {
  /** `bytes` are another message's once this has returned. */
  received(bytes: Uint8Array, isBinary: boolean): void;
  pinged(): void;
  /** Nobody asked for it. */
  ponged(): void;
  /** The socket is closed and must not be touched. Called for one that we closed, too. */
  gone(reason: SocketEnd): void;
}

export type SocketEnd = Extract<SignalEndReason, 'peer_closed' | 'reset' | 'malformed'>;

/** What the library hangs on a socket. */
export interface SocketTag {
  owner: SocketOwner | null;
  /** Address key of the peer; empty where addresses do not count, and once the handshake is over. */
  address: string;
}

export interface FrameSocket {
  /** 2: it was not taken, because as much as may waits already. */
  send(text: string): number;
  getBufferedAmount(): number;
  /** A close frame, then the end of the stream. */
  end(code: number, reason: string): void;
  /** The end without a close frame. */
  close(): void;
  getRemoteAddressAsText(): ArrayBuffer;
}

const sendDropped = 2;

/** False: the peer reads too little, and the text was not sent. */
export function sendText(socket: FrameSocket, text: string): boolean {
  return socket.send(text) !== sendDropped;
}

/** Says goodbye and closes. What does not fit behind what the peer has not read is not said. */
export function dismiss(socket: FrameSocket, { code, reason }: SignalClose): void {
  sendText(socket, encodeBye(reason));
  socket.end(code, reason);
}

const abnormal = 1006;

/**
 * `code` and `message` are the library's: the peer's own where it sent a close frame, else 1006 and a sentence of
 * the library's about what the peer did wrong, or nothing where the connection broke.
 */
function socketEnd(code: number, message: string): SocketEnd {
  if (code !== abnormal || message.includes('TCP FIN')) return 'peer_closed';
  return message === '' ? 'reset' : 'malformed';
}
