/** The time that a call has. A phone does not ring for ever: what is done after that is done for nobody. */
import { setTimeout as delay } from 'node:timers/promises';

export class Deadline {
  readonly #endMs: number;
  readonly #over = new AbortController();
  readonly #timer: NodeJS.Timeout;

  constructor(forMs: number) {
    this.#endMs = performance.now() + forMs;
    this.#timer = setTimeout(() => this.cut(), forMs);
  }

  /** Aborted when the time is over: what is under way then ends with it. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** At least 1. */
  get leftS(): number {
    return Math.max(1, Math.ceil((this.#endMs - performance.now()) / 1000));
  }

  /** Resolves after `ms`; rejects when the time is over before. */
  pause(ms: number): Promise<void> {
    return delay(ms, undefined, { signal: this.signal });
  }

  /** The time is over now: the call is done, or the backend is being stopped. */
  cut(): void {
    clearTimeout(this.#timer);
    this.#over.abort();
  }
}
