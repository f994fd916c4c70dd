/**
 * Counts recent events by key where their end is not reported: each count expires. A ring of slots, one per tick; turning it
 * drops the oldest.
 */
export class RecentCounts {
  readonly #slots: Map<string, number>[];
  readonly #keysMax: number;
  #newest = 0;
  #keys = 0;
  #total = 0;

  /** Each event counts for `ticks` turns, or one less. Beyond `keysMax` entries, new keys are not counted. */
  constructor(ticks: number, keysMax: number) {
    this.#slots = Array.from({ length: ticks }, () => new Map());
    this.#keysMax = keysMax;
  }

  get total(): number {
    return this.#total;
  }

  countOf(key: string): number {
    return this.#slots.reduce((sum, slot) => sum + (slot.get(key) ?? 0), 0);
  }

  add(key: string): void {
    const slot = this.#slot(0);
    const count = slot.get(key) ?? 0;
    if (count === 0 && this.#keys >= this.#keysMax) return;
    if (count === 0) this.#keys += 1;
    slot.set(key, count + 1);
    this.#total += 1;
  }

  /** Removes one event of the key, the newest first; does nothing when all have expired. */
  withdraw(key: string): void {
    for (let age = 0; age < this.#slots.length; age++) {
      const slot = this.#slot(age);
      const count = slot.get(key);
      if (count === undefined) continue;
      this.#total -= 1;
      if (count > 1) slot.set(key, count - 1);
      else if (slot.delete(key)) this.#keys -= 1;
      return;
    }
  }

  /** Call it once a tick. */
  turn(): void {
    this.#newest = (this.#newest + 1) % this.#slots.length;
    const oldest = this.#slot(0);
    for (const count of oldest.values()) this.#total -= count;
    this.#keys -= oldest.size;
    oldest.clear();
  }

  #slot(age: number): Map<string, number> {
    const { length } = this.#slots;
    const slot = this.#slots[(this.#newest + length - age) % length];
    if (slot === undefined) throw new RangeError(`no slot of age ${age}`);
    return slot;
  }
}
