/**
 * Limits how fast entries are forgotten for their age, which goes by the wall clock: a clock that is wrong by weeks must not
 * empty a log before somebody corrects it. Forgetting beyond a maximum number is not limited here.
 */
import type { Clock } from '../../lib/clock.ts';
import { forgottenShareMax } from './store-limits.ts';

const minuteMs = 60_000;

export class ForgettingPace {
  readonly #clock: Clock;
  /** Share of the entries that there were when forgetting began; a short-lived log forgets more than the usual share. */
  readonly #sharePerMinute: number;
  #entries = 0;
  #allowed = 1;
  #refilledMs: number;

  constructor(clock: Clock, maxAgeMs: number) {
    this.#clock = clock;
    this.#sharePerMinute = Math.max(forgottenShareMax, (2 * minuteMs) / maxAgeMs);
    this.#refilledMs = clock.monotonicMs();
  }

  /** The number of entries, of `entries`, that may be forgotten now: at most what a minute allows. */
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

  /** No entry is too old. */
  caughtUp(): void {
    this.#entries = 0;
  }
}
