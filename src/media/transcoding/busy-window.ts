/**
 * How much of the time was worked lately: a sliding window of whole seconds, the one that runs included. It forgets by
 * being read or written, so it needs no timer.
 */
import type { Clock } from '../../lib/clock.ts';
import { loadWindowMs } from '../../model/limits.ts';

const slotMs = 1000;
const slots = loadWindowMs / slotMs;

export class BusyWindow {
  readonly #clock: Clock;
  /** Milliseconds worked, by second modulo `slots`. */
  readonly #workMs = new Float64Array(slots);
  #second = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Work that has ended now. */
  add(workMs: number): void {
    this.#move(this.#clock.monotonicMs());
    const slot = this.#second % slots;
    this.#workMs[slot] = (this.#workMs[slot] ?? 0) + workMs;
  }

  /** Of the window's time, 0 to 1; a window younger than its length counts what was before it as idle. */
  share(): number {
    const nowMs = this.#clock.monotonicMs();
    this.#move(nowMs);
    const coveredMs = loadWindowMs - slotMs + (nowMs - this.#second * slotMs);
    return Math.min(1, this.#workMs.reduce((sum, workMs) => sum + workMs, 0) / coveredMs);
  }

  /** Whether there was work in every second of it: what its share says is no pause. */
  isSteady(): boolean {
    this.#move(this.#clock.monotonicMs());
    return this.#workMs.every((workMs) => workMs > 0);
  }

  #move(nowMs: number): void {
    const second = Math.floor(nowMs / slotMs);
    const passed = Math.min(second - this.#second, slots);
    for (let back = 0; back < passed; back++) this.#workMs[(second - back) % slots] = 0;
    this.#second = second;
  }
}
