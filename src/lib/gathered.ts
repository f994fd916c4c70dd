/** Items that go together because each by itself would cost as much as many: the first at once, then those of a moment. */
import type { Cancel, Clock } from './clock.ts';

export interface GatheredLimits {
  /** How long what follows the last that went waits for more. */
  readonly ms: number;
  /** So many go together at most, and do not wait. */
  readonly max: number;
}

export class Gathered<Item> {
  readonly #clock: Clock;
  readonly #limits: GatheredLimits;
  readonly #handOn: (items: readonly Item[]) => void;
  #items: Item[] = [];
  /** Null: nothing went just now, and nothing waits. */
  #cancel: Cancel | null = null;

  /** `handOn` is given them in their order. Must not throw. */
  constructor(clock: Clock, limits: GatheredLimits, handOn: (items: readonly Item[]) => void) {
    this.#clock = clock;
    this.#limits = limits;
    this.#handOn = handOn;
  }

  add(item: Item): void {
    this.#items.push(item);
    if (this.#cancel === null || this.#items.length >= this.#limits.max) this.#go();
  }

  /** What waits is lost. */
  close(): void {
    this.#cancel?.();
    this.#items = [];
  }

  #go(): void {
    const items = this.#items;
    this.#items = [];
    this.#cancel?.();
    this.#cancel = this.#clock.after(this.#limits.ms, () => {
      this.#cancel = null;
      if (this.#items.length > 0) this.#go();
    });
    this.#handOn(items);
  }
}
