/**
 * Items that a process remembers for operators, in memory only and bounded: each owner loses its oldest item first, so that an
 * owner that floods loses its own; with too many of all, the owner that has had nothing new for the longest time loses one.
 */
import { LRUCache } from 'lru-cache';

export interface RecentLimits {
  readonly max: number;
  readonly ofOwnerMax: number;
}

export class RecentByOwner<Key, Item> {
  readonly #limits: RecentLimits;
  /** The newest item of each owner is the last. No `Map`: the first key of one lies behind the holes of all that were deleted. */
  readonly #byOwner: LRUCache<string, Map<Key, Item>>;
  #size = 0;
  #forgotten = 0;

  constructor(limits: RecentLimits) {
    this.#limits = limits;
    // Each owner has an item, and one is too many for a moment.
    this.#byOwner = new LRUCache({ max: limits.max + 1 });
  }

  /** Items that were dropped for want of room. */
  get forgotten(): number {
    return this.#forgotten;
  }

  find(owner: string, key: Key): Item | null {
    return this.#byOwner.peek(owner)?.get(key) ?? null;
  }

  /** In no order. */
  items(): Item[] {
    return [...this.#byOwner.values()].flatMap((kept) => [...kept.values()]);
  }

  /** The item is the newest of all, and replaces the one of its owner that has the same key. */
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
