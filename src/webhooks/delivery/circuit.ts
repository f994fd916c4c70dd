/**
 * A circuit breaker: it decides whether an endpoint is worth a new event. After some failures in a row the circuit is
 * open: one attempt at a time asks whether the endpoint is back, further and further apart, and the first that is
 * delivered closes it.
 */
import type { RetrySchedule } from './limits.ts';

export class Circuit {
  readonly #failuresMax: number;
  readonly #schedule: RetrySchedule;
  #failures = 0;
  #isOpen = false;
  #isProbing = false;
  #probes = 0;
  #probeAtMs = 0;

  constructor(failuresMax: number, schedule: RetrySchedule) {
    this.#failuresMax = failuresMax;
    this.#schedule = schedule;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** In a row, up to now. */
  get failures(): number {
    return this.#failures;
  }

  /** Monotonic milliseconds of the next probe; null: one is under way. Only while it is open. */
  get probeAtMs(): number | null {
    return this.#isProbing ? null : this.#probeAtMs;
  }

  mayProbe(nowMs: number): boolean {
    return this.#isOpen && !this.#isProbing && nowMs >= this.#probeAtMs;
  }

  beginProbe(): void {
    this.#isProbing = true;
  }

  /** True when it was open. */
  succeed(): boolean {
    const wasOpen = this.#isOpen;
    this.#failures = 0;
    this.#isOpen = false;
    this.#isProbing = false;
    this.#probes = 0;
    return wasOpen;
  }

  /** True when it opens by this. A late failure of an attempt from before it opened says nothing new. */
  fail(nowMs: number, isProbe: boolean): boolean {
    this.#failures += 1;
    if (this.#isOpen) {
      if (isProbe) this.#waitForProbe(nowMs, this.#probes + 1);
      return false;
    }
    this.#isOpen = this.#failures >= this.#failuresMax;
    if (this.#isOpen) this.#waitForProbe(nowMs, 0);
    return this.#isOpen;
  }

  /** Somebody says that the endpoint is worth asking now. */
  hasten(nowMs: number): void {
    this.#probes = 0;
    this.#probeAtMs = nowMs;
  }

  #waitForProbe(nowMs: number, probes: number): void {
    this.#isProbing = false;
    this.#probes = probes;
    this.#probeAtMs = nowMs + this.#schedule.probeDelayMs(probes);
  }
}
