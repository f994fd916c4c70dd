/** Batches items that each cost as much as a batch: the first is passed on at once, later ones after a short wait. */
import type { Cancel, Clock } from './clock.ts';

export interface GatheredLimits {
  /** Minimum interval between two batches. */
  readonly ms: number;
  /** Maximum batch size; a full batch is passed on at once. */
  readonly max: number;
}

export class Gathered<Item> {
  readonly #clock: Clock;
  readonly #limits: GatheredLimits;
  readonly #handOn: (items: readonly Item[]) => void;
  #items: Item[] = [];
  /** Null: no batch was passed on within the interval, and nothing waits. */
  #cancel: Cancel | null = null;

  /** `handOn` receives the items in their order and must not throw. */
  constructor(clock: Clock, limits: GatheredLimits, handOn: (items: readonly Item[]) => void) {
    this.#clock = clock;
    this.#limits = limits;
    this.#handOn = handOn;
  }

  add(item: Item): void {
    this.#items.push(item);
    if (this.#cancel === null || this.#items.length >= this.#limits.max) this.#flush();
  }

  /** Drops the items that wait. */
  close(): void {
    this.#cancel?.();
    this.#items = [];
  }

  #flush(): void {
    const items = this.#items;
    this.#items = [];
    this.#cancel?.();
    this.#cancel = this.#clock.after(this.#limits.ms, () => {
      this.#cancel = null;
      if (this.#items.length > 0) this.#flush();
    });
    this.#handOn(items);
  }
}
