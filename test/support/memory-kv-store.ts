/** A bucket in memory: what two nodes see of it is the same. */
import type { KvStore, KvEntry } from '../../src/cluster/nats/kv-store.ts';
import { SharedStateUnavailable } from '../../src/core/ports/session-locator.ts';

export class MemoryKvStore implements KvStore {
  readonly entries = new Map<string, KvEntry>();
  isUnavailable = false;
  puts = 0;
  /** The put of this number, and those after it, reject; 0: none does. */
  failFrom = 0;
  #revision = 0;

  async find(key: string): Promise<KvEntry | null> {
    this.#reach();
    return this.entries.get(key) ?? null;
  }

  async put(key: string, value: Uint8Array): Promise<number> {
    this.#reach();
    this.puts += 1;
    if (this.failFrom > 0 && this.puts >= this.failFrom)
      throw new SharedStateUnavailable('the bucket refuses');
    this.#revision += 1;
    this.entries.set(key, { key, value, revision: this.#revision });
    return this.#revision;
  }

  async compareAndSet(key: string, value: Uint8Array, revision: number | null): Promise<number | null> {
    this.#reach();
    if ((this.entries.get(key)?.revision ?? null) !== revision) return null;
    return this.put(key, value);
  }

  async *all(): AsyncGenerator<KvEntry, void, undefined> {
    this.#reach();
    yield* Array.from(this.entries.values()).sort((one, other) => one.revision - other.revision);
  }

  #reach(): void {
    if (this.isUnavailable) throw new SharedStateUnavailable('NATS is away');
  }
}
