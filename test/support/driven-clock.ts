/** A clock that stands still until a test moves it. Timers run in order of due time, then of creation. */
import type { Cancel, Clock } from '../../src/lib/clock.ts';

interface Timer {
  dueMs: number;
  order: number;
  intervalMs: number | null;
  run: () => void;
}

export class DrivenClock implements Clock {
  #nowMs = 0;
  #wallOffsetMs: number;
  #timers = new Set<Timer>();
  #made = 0;

  /** `wallMs` defaults to 2026-11-20T08:30:00Z, the instant of the signing vectors. */
  constructor(wallMs = Date.UTC(2026, 10, 20, 8, 30, 0)) {
    this.#wallOffsetMs = wallMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return this.#nowMs + this.#wallOffsetMs;
  }

  after(delayMs: number, run: () => void): Cancel {
    return this.#arm(delayMs, null, run);
  }

  every(intervalMs: number, run: () => void): Cancel {
    return this.#arm(intervalMs, intervalMs, run);
  }

  /** Advances both clocks and runs due timers on the way, each at its own instant. */
  advance(ms: number): void {
    const endMs = this.#nowMs + ms;
    for (let next = this.#nextDue(endMs); next !== null; next = this.#nextDue(endMs)) {
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      if (next.intervalMs === null) this.#timers.delete(next);
      else next.dueMs += next.intervalMs;
      next.run();
    }
    this.#nowMs = endMs;
  }

  /** Advances as in a process that was stopped meanwhile: due timers run afterwards, once each. */
  stall(ms: number): void {
    this.#nowMs += ms;
    for (const timer of this.#timers) {
      if (timer.dueMs > this.#nowMs) continue;
      if (timer.intervalMs === null) this.#timers.delete(timer);
      else timer.dueMs = this.#nowMs + timer.intervalMs;
      timer.run();
    }
  }

  /** Steps only the wall clock, as an operator or NTP does. */
  stepWall(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  get pendingTimers(): number {
    return this.#timers.size;
  }

  #arm(delayMs: number, intervalMs: number | null, run: () => void): Cancel {
    const timer: Timer = { dueMs: this.#nowMs + Math.max(0, delayMs), order: this.#made++, intervalMs, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  #nextDue(endMs: number): Timer | null {
    let first: Timer | null = null;
    for (const timer of this.#timers) {
      if (timer.dueMs > endMs) continue;
      if (
        first === null ||
        timer.dueMs < first.dueMs ||
        (timer.dueMs === first.dueMs && timer.order < first.order)
      )
        first = timer;
    }
    return first;
  }
}
