/**
 * Limits how fast entries are removed for their age, which depends on the wall clock: a clock that is wrong by weeks must not empty a
 * log before it is corrected. Removal beyond a maximum number is not limited here.
 */
import type { Clock } from '../../lib/clock.ts';
import { forgottenShareMax } from './store-limits.ts';

const minuteMs = 60_000;

export class ForgettingPace {
  readonly #clock: Clock;
  /** Share of the entries present when removal began; a log with a short retention removes more per minute. */
  readonly #sharePerMinute: number;
  #entries = 0;
  #allowed = 1;
  #refilledMs: number;

  constructor(clock: Clock, maxAgeMs: number) {
    this.#clock = clock;
    this.#sharePerMinute = Math.max(forgottenShareMax, (2 * minuteMs) / maxAgeMs);
    this.#refilledMs = clock.monotonicMs();
  }

  /** Number of entries, out of `entries`, that may be removed now: at most the amount of one minute. */
  allowed(entries: number): number {
    this.#entries = Math.max(this.#entries, entries);
    const perMinute = Math.max(1, this.#entries * this.#sharePerMinute);
    const nowMs = this.#clock.monotonicMs();
    const gained = (perMinute * (nowMs - this.#refilledMs)) / minuteMs;
    this.#allowed = Math.min(perMinute, this.#allowed + gained);
    this.#refilledMs = nowMs;
    return Math.floor(this.#allowed);
  }

  forgot(entries: number): void {
    this.#allowed -= entries;
  }

  /** Call when no entry is too old. */
  caughtUp(): void {
    this.#entries = 0;
  }
}
