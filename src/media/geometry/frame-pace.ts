/**
 * Paces a stream: decides which frames go on, so that they are no more than a rate, evenly. Goes by the timestamps of the
 * frames alone. Source: calls-and-media.md, Legs.
 */
import { assert } from '../../lib/assert.ts';

/**
 * A frame is due once in an interval. One goes on if it comes within a window as long as the source's own interval,
 * which begins before it is due: so of a faster source it is the frame next to that moment, and of one that is no faster
 * each, though its timestamps jitter.
 */
const windowPartBefore = 0.65;
const windowPartBehind = 1 - windowPartBefore;
/** Of one frame in the average of the source's intervals. */
const averageWeight = 1 / 8;
/** Timestamps further back than this are another clock's; nearer ones a frame out of turn. */
const backwardsMsMax = 500;

/**
 * Within any time as many frames go on as there are intervals in it, and two, at most. A pause of some intervals, or a
 * jump backwards, starts anew.
 */
export class FramePace {
  readonly #intervalMs: number;
  #lastMs = 0;
  /** From the last frame until the next one is due; below 0: it was due before. */
  #dueInMs = Number.NEGATIVE_INFINITY;
  /** The average; null: there was one frame only. */
  #sourceIntervalMs: number | null = null;

  /** `maxFps`: above 0. */
  constructor(maxFps: number) {
    assert(maxFps > 0, 'a frame rate is above 0');
    this.#intervalMs = 1000 / maxFps;
  }

  /** Asked once for each frame, in the order they come. `timestampMs`: 32 bits, and starts again at 0. */
  admits(timestampMs: number): boolean {
    const elapsedMs = (timestampMs - this.#lastMs) | 0;
    this.#lastMs = timestampMs;
    this.#dueInMs -= elapsedMs;
    if (this.#isStart()) {
      this.#sourceIntervalMs = null;
      this.#dueInMs = this.#intervalMs;
      return true;
    }
    const windowMs = Math.min(this.#averageWith(Math.max(elapsedMs, 0)), this.#intervalMs);
    if (this.#dueInMs > windowMs * windowPartBefore) return false;
    this.#dueInMs = Math.max(this.#dueInMs, -windowMs * windowPartBehind) + this.#intervalMs;
    return true;
  }

  #isStart(): boolean {
    const dueInMsMax = this.#intervalMs * (1 + windowPartBefore) + backwardsMsMax;
    return this.#dueInMs < -this.#intervalMs || this.#dueInMs > dueInMsMax;
  }

  #averageWith(elapsedMs: number): number {
    const before = this.#sourceIntervalMs ?? elapsedMs;
    this.#sourceIntervalMs = before + (elapsedMs - before) * averageWeight;
    return this.#sourceIntervalMs;
  }
}
