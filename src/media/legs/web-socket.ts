/**
 * WebSockets of legs, made by the library from granted upgrades, and a leg's output on one. No subprotocol and no extension is accepted;
 * pings are answered and messages are bounded. Protocol errors close with 1002, 1007 or 1008, and a message that is too large with 1009.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import {
  legLingerMsMax,
  mediaFragmentsMax,
  mediaMessageBytesMax,
  mediaPiecesMax,
  legBacklogBytesMax,
} from '../../model/limits.ts';
import {
  faultCloses,
  encodeFramesDropped,
  encodeKeyFrameWanted,
  encodeMaxFpsWanted,
  encodeUplinkError,
} from '../../protocol/media/leg-text.ts';
import type { DropCause } from '../../model/media/picture.ts';
import type { LegOutput } from '../relay/send-queue.ts';
import { WebSocket, WebSocketServer } from '../../lib/connections/web-socket-library.ts';

/** Receives a socket's events; never called within one of its own calls to the socket. */
export interface SocketOwner {
  /** `bytes` belong to the owner. */
  received(bytes: Buffer, isBinary: boolean): void;
  /** The pong was already sent, as far as the peer reads. */
  pinged(): void;
  ponged(): void;
  /** Invalid or oversized data: the socket closes itself. */
  failed(): void;
  /** The socket is closed; called once for every socket. */
  closed(): void;
}

/** A WebSocket of a leg. After it is closed its methods do nothing. */
export interface FrameSocket {
  readonly bufferedAmount: number;
  /** Bytes received, including those of an incomplete message. */
  readonly bytesRead: number;
  send(text: string): void;
  /**
   * Sends both parts as one binary message. `sent` is called once, never within this call: the system has accepted it, or never will.
   */
  sendFrame(header: Uint8Array, payload: Uint8Array, sent: () => void): void;
  ping(): void;
  /** Sends a close frame; the connection ends when the peer answers it, or after a timeout. */
  close(code: number, reason: string): void;
  /** Closes a peer that sends too much: nothing of it is read any more, not even its close frame. */
  closeUnread(code: number, reason: string): void;
  terminate(): void;
}

class LegSocket extends WebSocket implements FrameSocket {
  stream: Socket | null = null;

  get bytesRead(): number {
    return this.stream?.bytesRead ?? 0;
  }

  /** Past the library, which would write its own header as a second part. */
  sendFrame(header: Uint8Array, payload: Uint8Array, sent: () => void): void {
    const { stream } = this;
    if (stream === null || this.readyState !== WebSocket.OPEN) process.nextTick(sent);
    else stream.write(binaryMessage(header, payload), () => sent());
  }

  /** The library also calls it, with only a code, for messages that it rejects. */
  override close(code?: number, reason?: string | Buffer): void {
    const { tooLarge } = faultCloses;
    super.close(code, reason ?? (code === tooLarge.code ? tooLarge.reason : undefined));
  }

  /** The end of the stream behind the close frame releases a peer that reads it; others are cut by the library's timeout. */
  closeUnread(code: number, reason: string): void {
    this.close(code, reason);
    this.pause();
    this.stream?.end();
  }
}

const finalBinary = 0x82;

/** A WebSocket message of one frame, since simple clients may not reassemble two. Source: RFC 6455, 5.2. */
function binaryMessage(header: Uint8Array, payload: Uint8Array): Buffer {
  const length = header.length + payload.length;
  const lengthBytes = length > 0xffff ? 8 : length > 125 ? 2 : 0;
  const start = 2 + lengthBytes;
  const bytes = Buffer.allocUnsafe(start + length);
  bytes[0] = finalBinary;
  bytes[1] = lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127;
  if (lengthBytes === 2) bytes.writeUInt16BE(length, 2);
  else if (lengthBytes === 8) bytes.writeBigUInt64BE(BigInt(length), 2);
  bytes.set(header, start);
  bytes.set(payload, start + header.length);
  return bytes;
}

const behavior = {
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: mediaMessageBytesMax,
  maxFragments: mediaFragmentsMax,
  maxBufferedChunks: mediaPiecesMax,
  // No separate limit: received pings count as messages, and queued pongs as backlog of the leg.
  maxPendingAutoPongs: 0,
  // Measured by the system clock, as in the library.
  closeTimeout: legLingerMsMax,
  WebSocket: LegSocket,
};
const upgrades = new WebSocketServer(behavior);

/**
 * Answers 101 and calls `own` before it returns; if the peer has disconnected, closes the connection and does not call it. `head`: bytes
 * received after the request.
 */
export function openWebSocket(
  request: IncomingMessage,
  head: Buffer,
  own: (socket: FrameSocket) => SocketOwner,
): void {
  // Otherwise the library would pick the first protocol offered.
  delete request.headers['sec-websocket-protocol'];
  upgrades.handleUpgrade(request, request.socket, head, (socket) => {
    socket.stream = request.socket;
    const owner = own(socket);
    // With the default binary type, each message is one Buffer.
    socket.on('message', (message, isBinary) => owner.received(message as Buffer, isBinary));
    socket.on('ping', () => owner.pinged());
    socket.on('pong', () => owner.ponged());
    socket.on('error', () => owner.failed());
    socket.on('close', () => owner.closed());
  });
}

/**
 * A leg's texts, sent as they come, and its frames, of which one is in flight at a time. A leg is cut if texts accumulate, but never
 * because a frame takes long.
 */
export class LegOutbox implements LegOutput {
  readonly takes = 'frames';
  readonly endCall: () => void;
  readonly #socket: FrameSocket;
  /** Size of the frame in flight; 0: none. */
  #frameBytes = 0;
  #framesSent = 0;

  /** `endCall`: reports the end of its call as `error`. */
  constructor(socket: FrameSocket, endCall: () => void) {
    this.#socket = socket;
    this.endCall = endCall;
  }

  get framesSent(): number {
    return this.#framesSent;
  }

  get isBacklogged(): boolean {
    return this.#socket.bufferedAmount - this.#frameBytes > legBacklogBytesMax;
  }

  /** Sends the text, or cuts a leg whose backlog is too large. */
  sendText(text: string): void {
    if (this.isBacklogged) this.#socket.terminate();
    else this.#socket.send(text);
  }

  askKeyFrame(): void {
    this.sendText(encodeKeyFrameWanted());
  }

  askMaxFps(maxFps: number): void {
    this.sendText(encodeMaxFpsWanted(maxFps));
  }

  framesDropped(cause: DropCause): void {
    this.sendText(encodeFramesDropped(cause));
  }

  mediaUnavailable(what: 'audio' | 'video', why: 'load' | 'unsupported'): void {
    this.sendText(encodeUplinkError(what, why));
  }

  send(header: Uint8Array, payload: Uint8Array, sent: () => void): void {
    this.#frameBytes = header.length + payload.length;
    this.#socket.sendFrame(header, payload, () => {
      this.#frameBytes = 0;
      this.#framesSent += 1;
      sent();
    });
  }
}
