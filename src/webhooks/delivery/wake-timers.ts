/** One timer for each hook that waits for time to pass, moved only when it waits for another moment. */
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { Hook } from './hook.ts';

interface Armed {
  readonly atMs: number;
  readonly cancel: Cancel;
}

export class WakeTimers {
  readonly #clock: Clock;
  readonly #wake: (hook: Hook) => void;
  readonly #armed = new Map<Hook, Armed>();

  constructor(clock: Clock, wake: (hook: Hook) => void) {
    this.#clock = clock;
    this.#wake = wake;
  }

  /** `atMs`: monotonic; null: it waits for nothing. */
  set(hook: Hook, atMs: number | null): void {
    const armed = this.#armed.get(hook);
    if (armed?.atMs === atMs || (armed === undefined && atMs === null)) return;
    armed?.cancel();
    if (atMs === null) this.#armed.delete(hook);
    else this.#armed.set(hook, { atMs, cancel: this.#arm(hook, atMs) });
  }

  clear(): void {
    for (const { cancel } of this.#armed.values()) cancel();
    this.#armed.clear();
  }

  #arm(hook: Hook, atMs: number): Cancel {
    return this.#clock.after(Math.max(0, atMs - this.#clock.monotonicMs()), () => {
      this.#armed.delete(hook);
      this.#wake(hook);
    });
  }
}
