/**
 * WebSockets of controllers, by the library, made of connections whose upgrade is accepted. Everything that the library
 * would do by itself is off: compression, pings, pongs. A fault of the peer closes with `bye` and 1002, 1007, 1008, and 1009 for
 * too large. Source: signal-wire.md; RFC 6455.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { plainAddress } from '../../lib/connections/address-key.ts';
import { WebSocket, WebSocketServer } from '../../lib/connections/web-socket-library.ts';
import { signalBackpressureBytesMax, signalMessageBytesMax } from '../../model/limits.ts';
import { signalLingerMsMax, signalPiecesMax, type SignalEndReason } from '../../model/signal.ts';
import { encodeBye, signalCloses, type SignalClose } from '../../protocol/signal/server-message.ts';

/** The receiver of a socket's events; never called within a call of its own to the socket. */
export interface SocketOwner {
  received(bytes: Uint8Array, isBinary: boolean): void;
  /** It is answered behind this call, if the socket is still open. */
  pinged(): void;
  /** Without a ping of ours. */
  ponged(): void;
  /** The socket is closed, or closes itself for a fault of its peer. Called at least once, also for one that the owner closed. */
  gone(reason: SocketEnd): void;
}

export type SocketEnd = Extract<SignalEndReason, 'peer_closed' | 'reset' | 'malformed'>;

/** A WebSocket of a controller. Once it is closed its calls do nothing. */
export interface FrameSocket {
  /** Null: events are dropped. */
  owner: SocketOwner | null;
  /** Address of the peer; an IPv4 address in its own form. */
  readonly address: string;
  /** Bytes that wait to be sent. */
  readonly bufferedAmount: number;
  /** False: the peer reads too little, and the text was not sent. */
  sendText(text: string): boolean;
  /** Sends `bye`, if it fits behind what the peer has not read, and a close frame, and ends the stream. */
  dismiss(close: SignalClose): void;
  /** The end without a close frame. */
  terminate(): void;
}

class ControllerSocket extends WebSocket implements FrameSocket {
  owner: SocketOwner | null = null;
  /** The connection below, from the upgrade on. */
  stream: Socket | null = null;

  get address(): string {
    return plainAddress(this.stream?.remoteAddress ?? '');
  }

  sendText(text: string): boolean {
    if (this.bufferedAmount + text.length > signalBackpressureBytesMax) return false;
    this.send(text);
    return true;
  }

  dismiss({ code, reason }: SignalClose): void {
    // A peer that has closed its side and reads nothing would keep the rest of the connection.
    if (this.readyState !== this.OPEN) return this.terminate();
    this.sendText(encodeBye(reason));
    super.close(code, reason);
    // A peer that sends too much is not read any more, its close frame included.
    if (code === signalCloses.flood.code) this.pause();
    this.stream?.end();
  }

  /** The library calls it, with a code alone for a fault of the peer, else to answer a close frame. */
  override close(code?: number, reason?: string | Buffer): void {
    if (code === undefined || reason !== undefined) return super.close(code, reason);
    const { tooLarge, malformed } = signalCloses;
    this.dismiss({ code, reason: code === tooLarge.code ? tooLarge.reason : malformed.reason });
  }
}

const behavior = {
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  autoPong: false,
  // One event of a socket in a turn of the loop: a peer that sends small frames as fast as it can waits between them.
  allowSynchronousEvents: false,
  maxPayload: signalMessageBytesMax,
  maxFragments: signalPiecesMax,
  maxBufferedChunks: signalPiecesMax,
  // By the system's clock, as the library's.
  closeTimeout: signalLingerMsMax,
  WebSocket: ControllerSocket,
};
const upgrades = new WebSocketServer(behavior);

/**
 * Answers 101 and calls `opened` before it returns, or closes the connection whose peer has gone and does not call it.
 * The request is a valid upgrade. `head`: bytes behind it.
 */
export function openWebSocket(
  request: IncomingMessage,
  head: Buffer,
  subprotocol: string,
  opened: (socket: FrameSocket) => void,
): void {
  // The library picks the first.
  request.headers['sec-websocket-protocol'] = subprotocol;
  upgrades.handleUpgrade(request, request.socket, head, (socket) => {
    socket.stream = request.socket;
    socket.on('message', onMessage).on('ping', onPing).on('pong', onPong).on('error', onError);
    socket.on('close', onClose);
    opened(socket);
  });
}

// One function each for all sockets, for the memory of each.
type LibrarySocket = InstanceType<typeof WebSocket>;

function onMessage(this: LibrarySocket, message: unknown, isBinary: boolean): void {
  // A Buffer, as long as no other kind is asked for.
  (this as ControllerSocket).owner?.received(message as Buffer, isBinary);
}

function onPing(this: LibrarySocket, payload: Buffer): void {
  (this as ControllerSocket).owner?.pinged();
  this.pong(payload);
}

function onPong(this: LibrarySocket): void {
  (this as ControllerSocket).owner?.ponged();
}

function onError(this: LibrarySocket): void {
  (this as ControllerSocket).owner?.gone('malformed');
}

const abnormal = 1006;

function onClose(this: LibrarySocket, code: number): void {
  const { owner, stream } = this as ControllerSocket;
  const hasSaidSo = code !== abnormal || stream?.readableEnded === true;
  owner?.gone(hasSaidSo ? 'peer_closed' : 'reset');
}
