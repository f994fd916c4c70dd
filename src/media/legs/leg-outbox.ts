/**
 * The output of a leg on a WebSocket: texts as they come, and frames, of which one is on its way at a time. A leg is cut
 * when texts pile up for it, and never for a frame that takes its time.
 */
import { legBacklogBytesMax } from '../../model/limits.ts';
import { encodeKeyFrameWanted } from '../../protocol/media/leg-text.ts';
import type { LegOutput } from '../relay/output.ts';
import type { FrameSocket } from './web-socket.ts';

export class LegOutbox implements LegOutput {
  readonly takes = 'frames';
  readonly #socket: FrameSocket;
  /** Of the frame that is on its way; 0: none is. */
  #frameBytes = 0;
  #framesSent = 0;

  constructor(socket: FrameSocket) {
    this.#socket = socket;
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

  send(header: Uint8Array, payload: Uint8Array, sent: () => void): void {
    this.#frameBytes = header.length + payload.length;
    this.#socket.sendFrame(header, payload, () => {
      this.#frameBytes = 0;
      this.#framesSent += 1;
      sent();
    });
  }
}
