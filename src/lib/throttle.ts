/** Log lines and other work that strangers can cause: once in so many milliseconds. */
import type { Clock } from './clock.ts';

const onceMs = 1000;

export class Throttle {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #msMin: number;
  #passedMs = -Infinity;

  constructor(clock: Pick<Clock, 'monotonicMs'>, msMin = onceMs) {
    this.#clock = clock;
    this.#msMin = msMin;
  }

  /** True: the time since the last true answer is over, and begins again. */
  pass(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#passedMs < this.#msMin) return false;
    this.#passedMs = nowMs;
    return true;
  }
}
