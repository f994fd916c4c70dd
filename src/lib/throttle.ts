/** Rate limits for log lines and other work that strangers can cause. */
import type { Clock } from './clock.ts';
import type { Log } from './log.ts';

const onceMs = 1000;

export class Throttle {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #msMin: number;
  #passedMs = -Infinity;

  constructor(clock: Pick<Clock, 'monotonicMs'>, msMin = onceMs) {
    this.#clock = clock;
    this.#msMin = msMin;
  }

  /** True at most once per period. */
  pass(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#passedMs < this.#msMin) return false;
    this.#passedMs = nowMs;
    return true;
  }
}

/** A warning about refusals: at most one per period, with the number of refusals since the line before. */
export class RefusalLine {
  readonly #log: Pick<Log, 'warn'>;
  readonly #message: string;
  readonly #throttle: Throttle;
  #unlogged = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>, log: Pick<Log, 'warn'>, message: string, msMin: number) {
    this.#log = log;
    this.#message = message;
    this.#throttle = new Throttle(clock, msMin);
  }

  /** `describe`: called for the fields only when a line is written. */
  record(describe: () => object): void {
    this.#unlogged += 1;
    if (!this.#throttle.pass()) return;
    this.#log.warn({ ...describe(), refused: this.#unlogged }, this.#message);
    this.#unlogged = 0;
  }
}
