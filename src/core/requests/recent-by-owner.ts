/**
 * Items that a process remembers for operators, in memory only and bounded: each owner loses its oldest item first, so that an
 * owner that floods loses its own; with too many of all, the owner that has had nothing new for the longest time loses one.
 */
export interface RecentLimits {
  readonly max: number;
  readonly ofOwnerMax: number;
}

export class RecentByOwner<Key, Item> {
  readonly #limits: RecentLimits;
  /** The owner of the newest item is the last, and so is the newest item of each owner. */
  readonly #byOwner = new Map<string, Map<Key, Item>>();
  #size = 0;
  #forgotten = 0;

  constructor(limits: RecentLimits) {
    this.#limits = limits;
  }

  /** Items that were dropped for want of room. */
  get forgotten(): number {
    return this.#forgotten;
  }

  find(owner: string, key: Key): Item | null {
    return this.#byOwner.get(owner)?.get(key) ?? null;
  }

  /** In no order. */
  items(): Item[] {
    return [...this.#byOwner.values()].flatMap((kept) => [...kept.values()]);
  }

  /** The item is the newest of all, and replaces the one of its owner that has the same key. */
  put(owner: string, key: Key, item: Item): void {
    const kept = this.#byOwner.get(owner) ?? new Map<Key, Item>();
    this.#byOwner.delete(owner);
    this.#byOwner.set(owner, kept);
    if (!kept.delete(key)) this.#size += 1;
    kept.set(key, item);
    if (kept.size > this.#limits.ofOwnerMax) this.#forgetOldest(owner, kept);
    if (this.#size > this.#limits.max)
      for (const [first, of] of this.#byOwner) return this.#forgetOldest(first, of);
  }

  #forgetOldest(owner: string, kept: Map<Key, Item>): void {
    for (const key of kept.keys()) {
      kept.delete(key);
      break;
    }
    this.#size -= 1;
    this.#forgotten += 1;
    if (kept.size === 0) this.#byOwner.delete(owner);
  }
}
