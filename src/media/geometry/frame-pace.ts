/**
 * Paces a stream: decides by the frames' timestamps alone which of them to forward, so that they are evenly spaced and within a rate.
 * Source: calls-and-media.md, Legs.
 */
import { assert } from '../../lib/assert.ts';

/**
 * One frame is due per interval. A frame is forwarded if it arrives within a window as long as the source's own interval, which begins
 * before the due time: so a faster source has the frame closest to that time forwarded, and a slower one all frames, even if their
 * timestamps jitter.
 */
const windowPartBefore = 0.65;
const windowPartBehind = 1 - windowPartBefore;
/** Weight of one interval in the running average of the source's intervals. */
const averageWeight = 1 / 8;
/** A timestamp further back than this belongs to another clock; a nearer one to a frame out of order. */
const backwardsMsMax = 500;

/**
 * Within any time at most as many frames are forwarded as it has intervals, plus two. A pause of some intervals, or a jump backwards,
 * restarts the pace.
 */
export class FramePace {
  readonly #intervalMs: number;
  #lastMs = 0;
  /** Time from the last frame until the next one is due; negative: it is overdue. */
  #dueInMs = Number.NEGATIVE_INFINITY;
  #sourceIntervalMs: number | null = null;

  constructor(maxFps: number) {
    assert(maxFps > 0, 'a frame rate is above 0');
    this.#intervalMs = 1000 / maxFps;
  }

  /** Called once for each frame, in order of arrival. `timestampMs`: 32 bits, wraps around. */
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
