/**
 * A bounded map whose entries end at a wall-clock second of their own. Dates come from callers, so expiry is not
 * in order of arrival: entries are grouped by second, and a second is dropped at once.
 */
import type { Clock } from '../../lib/clock.ts';
import { wallSeconds } from '../../lib/clock.ts';

export class ExpiringKeys<Value> {
  readonly #clock: Clock;
  readonly #max: number;
  readonly #values = new Map<string, Value>();
  readonly #bySecond = new Map<number, string[]>();
  #sweptAt: number;

  constructor(clock: Clock, max: number) {
    this.#clock = clock;
    this.#max = max;
    this.#sweptAt = wallSeconds(clock);
  }

  get isFull(): boolean {
    this.#sweep();
    return this.#values.size >= this.#max;
  }

  get(key: string): Value | undefined {
    this.#sweep();
    return this.#values.get(key);
  }

  set(key: string, value: Value, expiresMs: number): void {
    this.#values.set(key, value);
    const second = Math.floor(expiresMs / 1000) + 1;
    const group = this.#bySecond.get(second);
    if (group === undefined) this.#bySecond.set(second, [key]);
    else group.push(key);
  }

  /** Its place in the second's group goes with the second. */
  delete(key: string): void {
    this.#values.delete(key);
  }

  /** At most one pass a second over at most a window's worth of seconds. */
  #sweep(): void {
    const now = wallSeconds(this.#clock);
    if (now === this.#sweptAt) return;
    this.#sweptAt = now;
    for (const [second, keys] of this.#bySecond) {
      if (second > now) continue;
      for (const key of keys) this.#values.delete(key);
      this.#bySecond.delete(second);
    }
  }
}

/** A signature as a key: 32 characters instead of 64 hex digits, and no reference into the header it was cut from. */
export function signatureKey(signature: string): string {
  return Buffer.from(signature, 'hex').toString('latin1');
}
