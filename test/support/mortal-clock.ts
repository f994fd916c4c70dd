/** A clock shared by several lives of a process; each life owns its timers. */
import type { Cancel, Clock } from '../../src/lib/clock.ts';

/** Timers end with the life that set them; time continues. */
export class MortalClock implements Clock {
  readonly #clock: Clock;
  readonly #cancels = new Set<Cancel>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  wallMs(): number {
    return this.#clock.wallMs();
  }

  after(delayMs: number, run: () => void): Cancel {
    const cancel = this.#clock.after(delayMs, () => {
      this.#cancels.delete(cancel);
      run();
    });
    return this.#keep(cancel);
  }

  every(intervalMs: number, run: () => void): Cancel {
    return this.#keep(this.#clock.every(intervalMs, run));
  }

  end(): void {
    for (const cancel of this.#cancels) cancel();
    this.#cancels.clear();
  }

  #keep(cancel: Cancel): Cancel {
    this.#cancels.add(cancel);
    return () => {
      this.#cancels.delete(cancel);
      cancel();
    };
  }
}
