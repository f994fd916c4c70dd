/**
 * Schedules restarts of a child that died: at once, or after the minimum wait, if it had served for a while; with a growing
 * wait, up to a bound, if it died soon after its start.
 */
import type { Cancel, Clock } from './clock.ts';

export interface RestartsOptions {
  /** Number of consecutive early deaths that restart at once: 0 or 1. */
  readonly immediate: 0 | 1;
  /** First wait; doubled with each death, up to `msMax`. */
  readonly msMin: number;
  readonly msMax: number;
}

export class Restarts {
  readonly #clock: Clock;
  readonly #options: RestartsOptions;
  #quickDeaths = 0;
  #isStopped = false;
  #cancel: Cancel = () => undefined;

  constructor(clock: Clock, options: RestartsOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  /** Returns the milliseconds until the next start. `isSound`: it died after serving. */
  died(isSound: boolean): number {
    const { immediate, msMin, msMax } = this.#options;
    this.#quickDeaths = isSound ? 1 - immediate : this.#quickDeaths + 1;
    const doublings = this.#quickDeaths - immediate - 1;
    return doublings < 0 ? 0 : Math.min(msMin * 2 ** doublings, msMax);
  }

  /**
   * Starts it after `waitMs`; 0: within this call. A start that throws or rejects counts as an early death: `failed` receives
   * the error and the next wait, and another start follows.
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

  /** Cancels the scheduled start, and prevents further ones. */
  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }
}
