/**
 * When a child that died is started again: one that served for a while at once, or after the least wait; one that dies
 * soon after its start later each time, up to a bound.
 */
import type { Cancel, Clock } from './clock.ts';

export interface RestartsOptions {
  /** How many deaths in a row are followed at once: 0 or 1. */
  readonly immediate: 0 | 1;
  /** The first wait, doubled with each death up to `msMax`. */
  readonly msMin: number;
  readonly msMax: number;
}

export class Restarts {
  readonly #clock: Clock;
  readonly #options: RestartsOptions;
  /** In a row, each soon after its start. */
  #quickDeaths = 0;
  #isStopped = false;
  #cancel: Cancel = () => undefined;

  constructor(clock: Clock, options: RestartsOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  /** Milliseconds until the next start. `isSound`: it died of something else than its start. */
  died(isSound: boolean): number {
    const { immediate, msMin, msMax } = this.#options;
    this.#quickDeaths = isSound ? 1 - immediate : this.#quickDeaths + 1;
    const doublings = this.#quickDeaths - immediate - 1;
    return doublings < 0 ? 0 : Math.min(msMin * 2 ** doublings, msMax);
  }

  /**
   * Starts it `waitMs` from now, 0: within this call. A start that throws or rejects counts as a death soon after it:
   * `failed` has the error and the next wait, and another one follows.
   */
  startAfter(
    waitMs: number,
    start: () => Promise<void> | void,
    failed: (error: unknown, waitMs: number) => void,
  ): void {
    const again = async (): Promise<void> => {
      try {
        await start();
      } catch (error) {
        if (this.#isStopped) return;
        const nextMs = this.died(false);
        failed(error, nextMs);
        this.startAfter(nextMs, start, failed);
      }
    };
    if (waitMs === 0) void again();
    else this.#cancel = this.#clock.after(waitMs, () => void again());
  }

  /** Nothing is started any more. */
  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }
}
