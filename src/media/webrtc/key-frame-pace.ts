/** The pace of requests for a key frame: one in 500 ms, whatever their causes. One that is wanted sooner waits until it is due. */
import { keyFrameAskMsMin } from '../../model/limits.ts';

export class KeyFramePace {
  #isWanted = false;
  #requestedMs = -Infinity;

  want(): void {
    this.#isWanted = true;
  }

  /** A key frame came. */
  satisfy(): void {
    this.#isWanted = false;
  }

  /** True: one is wanted, and is to be requested now. */
  acquire(nowMs: number): boolean {
    if (!this.#isWanted || nowMs - this.#requestedMs < keyFrameAskMsMin) return false;
    this.#isWanted = false;
    this.#requestedMs = nowMs;
    return true;
  }
}
