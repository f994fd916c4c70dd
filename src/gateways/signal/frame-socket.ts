/**
 * A WebSocket as the connections here see it, and whose events it has: the owner stands on the socket itself, so that
 * a finished handshake hands it over by changing one field. What the library says of a close becomes a reason here.
 */
import type { SignalEndReason } from '../../model/signal.ts';
import { type SignalClose, encodeBye } from '../../protocol/signal/server-message.ts';

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
  /** Address key of the peer; empty where addresses do not count. */
  readonly address: string;
}

export interface FrameSocket {
  /** 2: it was not taken, because as much as may waits already. */
  send(text: string): number;
  getBufferedAmount(): number;
  /** A close frame, then the end of the stream. */
  end(code: number, reason: string): void;
  /** The end without a close frame. */
  close(): void;
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
export function socketEnd(code: number, message: string): SocketEnd {
  if (code !== abnormal || message.includes('TCP FIN')) return 'peer_closed';
  return message === '' ? 'reset' : 'malformed';
}
