/** Frames that wait to be sent to one process, in their order, each by a key, under which it can be taken back. */
import { peerBacklogBytesMax } from '../../model/limits.ts';

export class UnixFrameQueue {
  readonly #frames = new Map<number, Buffer>();
  #bytes = 0;

  get isEmpty(): boolean {
    return this.#frames.size === 0;
  }

  /** False: there is no room, and it is not in it. `key`: of no other frame that waits. */
  put(key: number, frame: Buffer): boolean {
    if (this.#bytes + frame.length > peerBacklogBytesMax) return false;
    this.#frames.set(key, frame);
    this.#bytes += frame.length;
    return true;
  }

  has(key: number): boolean {
    return this.#frames.has(key);
  }

  /** True: it was still here, and nobody has seen it. */
  takeBack(key: number): boolean {
    const frame = this.#frames.get(key);
    if (frame === undefined) return false;
    this.#frames.delete(key);
    this.#bytes -= frame.length;
    return true;
  }

  /** The first of them in one piece, up to about `bytesMax`; one at least. */
  take(bytesMax: number): Buffer {
    const taken: Buffer[] = [];
    let bytes = 0;
    for (const [key, frame] of this.#frames) {
      this.#frames.delete(key);
      taken.push(frame);
      bytes += frame.length;
      if (bytes >= bytesMax) break;
    }
    this.#bytes -= bytes;
    return Buffer.concat(taken, bytes);
  }

  clear(): void {
    this.#frames.clear();
    this.#bytes = 0;
  }
}
