/**
 * WebSockets of legs, by the library, made of connections whose upgrade is granted, and a leg's output on one. No
 * subprotocol and no extension is picked; pings are answered, a message is bounded, and what breaks the protocol closes
 * with 1002, 1007, 1008, and 1009 for too large.
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

/** The receiver of a socket's events; never called within a call of its own to the socket. */
export interface SocketOwner {
  /** `bytes` are the owner's to keep. */
  received(bytes: Buffer, isBinary: boolean): void;
  /** It is answered already, as far as the peer reads. */
  pinged(): void;
  /** Whether or not it was asked for one. */
  ponged(): void;
  /** What came is no WebSocket's, or too large: the socket closes itself. */
  failed(): void;
  /** The socket is closed; of every socket, once. */
  gone(): void;
}

/** A WebSocket of a leg. Once it is closed its calls do nothing. */
export interface FrameSocket {
  /** Bytes that wait to be sent. */
  readonly bufferedAmount: number;
  /** Bytes that have come, those of a message that is not whole included. */
  readonly bytesRead: number;
  send(text: string): void;
  /** One binary message of the two. `sent`: the system has it, or never will; it is called once, and never within the call. */
  sendFrame(header: Uint8Array, payload: Uint8Array, sent: () => void): void;
  ping(): void;
  /** A close frame; the connection ends when the peer answers it, or has not for a while. */
  close(code: number, reason: string): void;
  /** The same to a peer that sends too much: none of it is read any more, its answer included. */
  closeUnread(code: number, reason: string): void;
  /** The end without a close frame. */
  terminate(): void;
}

class LegSocket extends WebSocket implements FrameSocket {
  /** The connection below, from the upgrade on. */
  stream: Socket | null = null;

  get bytesRead(): number {
    return this.stream?.bytesRead ?? 0;
  }

  /** The library would make two frames of two pieces, and a simple client may not put them together. */
  sendFrame(header: Uint8Array, payload: Uint8Array, sent: () => void): void {
    this.send(Buffer.concat([header, payload]), () => sent());
  }

  /** The library calls it too, with a code alone for what it will not take. */
  override close(code?: number, reason?: string | Buffer): void {
    const { tooLarge } = faultCloses;
    super.close(code, reason ?? (code === tooLarge.code ? tooLarge.reason : undefined));
  }

  /** The end behind the close frame lets a peer go that reads it; another is cut when the library's time is up. */
  closeUnread(code: number, reason: string): void {
    this.close(code, reason);
    this.pause();
    this.stream?.end();
  }
}

const behavior = {
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: mediaMessageBytesMax,
  maxFragments: mediaFragmentsMax,
  maxBufferedChunks: mediaPiecesMax,
  // No bound of their own: pings are in that on messages, and pongs in that on all that waits to be sent to a leg.
  maxPendingAutoPongs: 0,
  // By the system's clock, as the library's.
  closeTimeout: legLingerMsMax,
  WebSocket: LegSocket,
};
const upgrades = new WebSocketServer(behavior);

/**
 * Answers 101 and calls `own` before it returns, or closes the connection whose peer has gone and does not call it.
 * `head`: what came behind the request.
 */
export function openWebSocket(
  request: IncomingMessage,
  head: Buffer,
  own: (socket: FrameSocket) => SocketOwner,
): void {
  // Else the library picks the first of those that are offered.
  delete request.headers['sec-websocket-protocol'];
  upgrades.handleUpgrade(request, request.socket, head, (socket) => {
    socket.stream = request.socket;
    const owner = own(socket);
    // One Buffer for each message, as long as nobody asks for another kind.
    socket.on('message', (message, isBinary) => owner.received(message as Buffer, isBinary));
    socket.on('ping', () => owner.pinged());
    socket.on('pong', () => owner.ponged());
    socket.on('error', () => owner.failed());
    socket.on('close', () => owner.gone());
  });
}

/**
 * A leg's texts as they come, and frames, of which one is on its way at a time. A leg is cut when texts pile up for it,
 * and never for a frame that takes its time.
 */
export class LegOutbox implements LegOutput {
  readonly takes = 'frames';
  readonly endCall: () => void;
  readonly #socket: FrameSocket;
  /** Of the frame that is on its way; 0: none is. */
  #frameBytes = 0;
  #framesSent = 0;

  /** `endCall`: reports the end of its call as `error`. */
  constructor(socket: FrameSocket, endCall: () => void) {
    this.#socket = socket;
    this.endCall = endCall;
  }

  /** Frames that the system has taken. */
  get framesSent(): number {
    return this.#framesSent;
  }

  /** Too many bytes of texts wait for it to read. */
  get isBacklogged(): boolean {
    return this.#socket.bufferedAmount - this.#frameBytes > legBacklogBytesMax;
  }

  /** Sends it, or cuts the backlogged leg, whose end comes as any other. */
  say(text: string): void {
    if (this.isBacklogged) this.#socket.terminate();
    else this.#socket.send(text);
  }

  askKeyFrame(): void {
    this.say(encodeKeyFrameWanted());
  }

  askMaxFps(maxFps: number): void {
    this.say(encodeMaxFpsWanted(maxFps));
  }

  framesDropped(cause: DropCause): void {
    this.say(encodeFramesDropped(cause));
  }

  goesWithout(what: 'audio' | 'video', why: 'load' | 'unsupported'): void {
    this.say(encodeUplinkError(what, why));
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
