/**
 * Asks a leg for a key frame: not oftener than it can help, and again while none comes, for the asking may be lost.
 * Source: calls-and-media.md, Resolution; the pace is chosen here.
 */
import type { Clock } from '../../lib/clock.ts';
import { keyFrameAskMsMin } from '../../model/limits.ts';
import { standsAlone, type WaitingVideo } from './media-queues.ts';

export class KeyFrameRequest {
  readonly #clock: Clock;
  readonly #ask: () => void;
  #isWanted = false;
  /** Of frames that stand alone, and before the first one, there is nothing to ask for. */
  #isCoded = false;
  #askedAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, ask: () => void) {
    this.#clock = clock;
    this.#ask = ask;
  }

  want(): void {
    this.#isWanted = true;
    this.#askWhenDue();
  }

  /** Each frame that the leg sends, before anything is made of it. */
  cameBy(video: Pick<WaitingVideo, 'format' | 'isKey'>): void {
    this.#isCoded = !standsAlone(video.format);
    if (video.isKey) this.#isWanted = false;
    else this.#askWhenDue();
  }

  #askWhenDue(): void {
    if (!this.#isWanted || !this.#isCoded) return;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#askedAtMs < keyFrameAskMsMin) return;
    this.#askedAtMs = nowMs;
    this.#ask();
  }
}
