/**
 * A Map for entries that come and go on a hot path. V8 links the table that a Map has outgrown to its next one: once such a table is in
 * old memory, all later tables survive with all their entries, even removed ones, until the next full collection. This map replaces its
 * Map before that chain grows, and copies about one entry for every two that are set.
 */
export class RenewedMap<Key, Value> {
  #map = new Map<Key, Value>();
  /** Entries set since the latest renewal. */
  #set = 0;

  get size(): number {
    return this.#map.size;
  }

  has(key: Key): boolean {
    return this.#map.has(key);
  }

  get(key: Key): Value | undefined {
    return this.#map.get(key);
  }

  /** A new key comes last. During an iteration, entries that are set may be missing from it. */
  set(key: Key, value: Value): void {
    this.#set += 1;
    if (this.#set > renewedAfter && this.#set > 2 * this.#map.size) this.#renew();
    this.#map.set(key, value);
  }

  delete(key: Key): boolean {
    return this.#map.delete(key);
  }

  keys(): MapIterator<Key> {
    return this.#map.keys();
  }

  [Symbol.iterator](): MapIterator<[Key, Value]> {
    return this.#map[Symbol.iterator]();
  }

  #renew(): void {
    this.#map = new Map(this.#map);
    this.#set = 0;
  }
}

/** A smaller number copies more often, a larger one keeps more garbage: 64 to 1024 cost the same. */
const renewedAfter = 128;
