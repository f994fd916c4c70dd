/**
 * Controllers' WebSockets, based on the library, for connections with an accepted upgrade. The library's automatic behaviour is
 * off: compression, pings, pongs. A protocol error of the peer closes with `bye` and 1002, 1007 or 1008, or 1009 if a message is
 * too large. Source: signal-wire.md; RFC 6455.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { plainAddress } from '../../lib/connections/address-key.ts';
import { WebSocket, WebSocketServer } from '../../lib/connections/web-socket-library.ts';
import { signalBackpressureBytesMax, signalMessageBytesMax } from '../../model/limits.ts';
import { signalLingerMsMax, signalPiecesMax, type SignalEndReason } from '../../model/signal.ts';
import { encodeBye, signalCloses, type SignalClose } from '../../protocol/signal/server-message.ts';

/** Receives a socket's events; never called during one of its own calls to the socket. */
export interface SocketOwner {
  received(bytes: Uint8Array, isBinary: boolean): void;
  /** The pong is sent after this call, if the socket is still open. */
  pinged(): void;
  /** An unsolicited pong: this server sends no pings. */
  ponged(): void;
  /** The socket is closed, or is closing because of a protocol error of the peer. Called at least once, even if the owner closed it. */
  onClosed(reason: SocketEnd): void;
}

export type SocketEnd = Extract<SignalEndReason, 'peer_closed' | 'reset' | 'malformed'>;

/** A controller's WebSocket. After its end, calls do nothing. */
export interface FrameSocket {
  /** Null: events are dropped. */
  owner: SocketOwner | null;
  /** Address of the peer; IPv4 in its own notation. */
  readonly address: string;
  readonly bufferedAmount: number;
  /** False: the send buffer is full, and the text was not sent. */
  sendText(text: string): boolean;
  /** Sends `bye` if the send buffer has room, then a close frame, and ends the stream. */
  dismiss(close: SignalClose): void;
  terminate(): void;
}

const abnormal = 1006;

class ControllerSocket extends WebSocket implements FrameSocket {
  owner: SocketOwner | null = null;
  /** The underlying connection, set by the upgrade. */
  stream: Socket | null = null;

  get address(): string {
    return plainAddress(this.stream?.remoteAddress ?? '');
  }

  /** Called by the library. Without listeners a socket takes 100 bytes less. */
  override emit(event: string | symbol, ...[first, isBinary]: readonly unknown[]): boolean {
    const { owner, stream } = this;
    // A Buffer, since no other binary type is set.
    if (event === 'message') owner?.received(first as Buffer, isBinary === true);
    else if (event === 'pong') owner?.ponged();
    else if (event === 'error') owner?.onClosed('malformed');
    else if (event === 'ping') {
      owner?.pinged();
      this.pong(first);
    } else if (event === 'close') {
      const hasSaidSo = first !== abnormal || stream?.readableEnded === true;
      owner?.onClosed(hasSaidSo ? 'peer_closed' : 'reset');
    }
    return true;
  }

  sendText(text: string): boolean {
    if (this.bufferedAmount + text.length > signalBackpressureBytesMax) return false;
    this.send(text);
    return true;
  }

  dismiss({ code, reason }: SignalClose): void {
    // A peer that has closed its side and reads nothing would keep the connection half open.
    if (this.readyState !== this.OPEN) return this.terminate();
    this.sendText(encodeBye(reason));
    super.close(code, reason);
    // A flooding peer is no longer read, not even its close frame.
    if (code === signalCloses.flood.code) this.pause();
    this.stream?.end();
  }

  /** Called by the library: with a code alone after a protocol error, else to answer a close frame. */
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
  // One event per socket and turn of the event loop, so that a peer that floods with small frames cannot block it.
  allowSynchronousEvents: false,
  maxPayload: signalMessageBytesMax,
  maxFragments: signalPiecesMax,
  maxBufferedChunks: signalPiecesMax,
  // Runs on the system clock, as the library does.
  closeTimeout: signalLingerMsMax,
  WebSocket: ControllerSocket,
};
const upgrades = new WebSocketServer(behavior);

/**
 * Answers 101 and calls `opened` before it returns; closes the connection without calling it if the peer has disconnected.
 * Requires a valid upgrade request. `head`: bytes received after it.
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
    opened(socket);
  });
}
