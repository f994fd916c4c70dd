/**
 * The connections of all listeners of a process, counted together, so that none of them takes the descriptors that another
 * one needs. Each listener has a reserved part, which is there whatever the others hold; what it holds beyond that comes
 * from a pool that all share, and of which one listener may be allowed a part only. Source: decisions.md, File descriptors.
 */
export interface ListenerCount {
  /** Connections that it may always hold. */
  readonly reserved: number;
  /** Those it holds now. */
  count(): number;
}

export class ConnectionCensus<Name extends string> {
  readonly #pool: number;
  readonly #listeners = new Map<Name, ListenerCount>();

  /** `pool`: connections that are in nobody's reserved part. */
  constructor(pool: number) {
    this.#pool = Math.max(0, pool);
  }

  join(name: Name, listener: ListenerCount): void {
    this.#listeners.set(name, listener);
  }

  /** Those that each listener holds now. */
  counts(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#listeners].map(([name, listener]) => [name, listener.count()]));
  }

  /** What the other listeners hold of the pool. */
  othersOf(name: Name): number {
    let held = 0;
    for (const [other, listener] of this.#listeners)
      if (other !== name) held += Math.max(0, listener.count() - listener.reserved);
    return held;
  }

  /** How many the listener may hold now, of the pool `poolShare` of it at most. */
  roomOf(name: Name, poolShare: number): number {
    const reserved = this.#listeners.get(name)?.reserved ?? 0;
    const left = Math.min(Math.floor(this.#pool * poolShare), this.#pool - this.othersOf(name));
    return reserved + Math.max(0, left);
  }
}
