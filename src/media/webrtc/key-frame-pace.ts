/** Limits requests for key frames to one in 500 ms. A request that comes earlier is sent when it is due. */
import { keyFrameAskMsMin } from '../../model/limits.ts';

export class KeyFramePace {
  #isWanted = false;
  #requestedMs = -Infinity;

  want(): void {
    this.#isWanted = true;
  }

  satisfy(): void {
    this.#isWanted = false;
  }

  /** True: a key frame is wanted and must be requested now. */
  acquire(nowMs: number): boolean {
    if (!this.#isWanted || nowMs - this.#requestedMs < keyFrameAskMsMin) return false;
    this.#isWanted = false;
    this.#requestedMs = nowMs;
    return true;
  }
}
