/**
 * Recent items for operators, in memory and bounded. Each owner drops its oldest item first, so that an owner that floods loses its
 * own. At the total limit, the owner without a new item for the longest time drops one.
 */
import { LRUCache } from 'lru-cache';

export interface RecentLimits {
  readonly max: number;
  readonly ofOwnerMax: number;
}

export class RecentByOwner<Key, Item> {
  readonly #limits: RecentLimits;
  /** Per owner the newest item is last. Not a `Map` of owners: finding its first key skips the holes of all deleted ones. */
  readonly #byOwner: LRUCache<string, Map<Key, Item>>;
  #size = 0;
  #forgotten = 0;

  constructor(limits: RecentLimits) {
    this.#limits = limits;
    // One more than `max` is present for a moment.
    this.#byOwner = new LRUCache({ max: limits.max + 1 });
  }

  get forgotten(): number {
    return this.#forgotten;
  }

  find(owner: string, key: Key): Item | null {
    return this.#byOwner.peek(owner)?.get(key) ?? null;
  }

  items(): Item[] {
    return [...this.#byOwner.values()].flatMap((kept) => [...kept.values()]);
  }

  /** Adds the newest item, or replaces the owner's item with the same key. */
  put(owner: string, key: Key, item: Item): void {
    const kept = this.#byOwner.get(owner) ?? new Map<Key, Item>();
    this.#byOwner.set(owner, kept);
    if (!kept.delete(key)) this.#size += 1;
    kept.set(key, item);
    if (kept.size > this.#limits.ofOwnerMax) this.#forgetOldest(owner);
    if (this.#size > this.#limits.max)
      for (const first of this.#byOwner.rkeys()) return this.#forgetOldest(first);
  }

  #forgetOldest(owner: string): void {
    const kept = this.#byOwner.peek(owner) ?? new Map<Key, Item>();
    for (const key of kept.keys()) {
      kept.delete(key);
      break;
    }
    this.#size -= 1;
    this.#forgotten += 1;
    if (kept.size === 0) this.#byOwner.delete(owner);
  }
}
