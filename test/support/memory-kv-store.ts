/** A bucket of NATS in memory, and each member's own way to it, with its faults. */
import type { KvChange, KvEntry, KvStore } from '../../src/cluster/nats/kv-store.ts';
import { SharedStateUnavailable } from '../../src/core/ports/session-locator.ts';

/** What all members see of it is the same. */
export class MemoryBucket {
  /** In the order of their revisions. */
  readonly entries = new Map<string, KvChange>();
  readonly followers = new Set<(change: KvChange) => void>();
  revision = 0;

  write(key: string, value: Uint8Array, isRemoved = false): number {
    this.revision += 1;
    const change = { key, value, revision: this.revision, isRemoved, writtenAtMs: 0 };
    this.entries.delete(key);
    this.entries.set(key, change);
    for (const follower of this.followers) follower(change);
    return this.revision;
  }

  open(): MemoryKvStore {
    return new MemoryKvStore(this);
  }
}

export class MemoryKvStore implements KvStore {
  readonly bucket: MemoryBucket;
  isUnavailable = false;
  /** So many writes hold, and their answers are lost. */
  lostAnswers = 0;
  /** So many more requests until it is unavailable. */
  requestsLeft = Infinity;
  reads = 0;
  puts = 0;
  /** The put of this number, and those after it, reject; 0: none does. */
  failFrom = 0;
  /** Called before each compare-and-set: others may be faster. */
  beforePut: (key: string) => void = () => undefined;
  /** It does not compare, for a canary. */
  overwrites = false;
  /** What is asked waits for it. */
  #held: Promise<void> | null = null;
  /** What is held goes on, and what comes after it. */
  release: () => void = () => undefined;

  constructor(bucket = new MemoryBucket()) {
    this.bucket = bucket;
  }

  hold(): void {
    this.#held = new Promise((resolve) => (this.release = resolve));
  }

  async find(key: string): Promise<KvEntry | null> {
    this.reads += 1;
    await this.#arrives();
    const found = this.bucket.entries.get(key);
    return found === undefined ? null : entryOf(found);
  }

  async put(key: string, value: Uint8Array): Promise<number> {
    await this.#arrives();
    return this.#write(key, value);
  }

  async compareAndSet(key: string, value: Uint8Array, revision: number | null): Promise<number | null> {
    await this.#arrives();
    this.beforePut(key);
    return this.#isAt(key, revision) ? this.#write(key, value) : null;
  }

  async remove(key: string, revision: number | null): Promise<boolean> {
    await this.#arrives();
    if (revision !== null && !this.#isAt(key, revision)) return false;
    this.bucket.write(key, new Uint8Array(), true);
    return true;
  }

  async eraseAll(prefix: string): Promise<void> {
    await this.#arrives();
    for (const key of this.bucket.entries.keys())
      if (key.startsWith(`${prefix}.`)) this.bucket.entries.delete(key);
  }

  async erase(revision: number): Promise<void> {
    await this.#arrives();
    for (const entry of this.bucket.entries.values())
      if (entry.revision === revision) this.bucket.entries.delete(entry.key);
  }

  async position(): Promise<number> {
    await this.#arrives();
    return this.bucket.revision;
  }

  async *since(position: number): AsyncGenerator<KvEntry, void, undefined> {
    await this.#arrives();
    for (const entry of Array.from(this.bucket.entries.values()))
      if (entry.revision > position) yield entryOf(entry);
  }

  all(): AsyncGenerator<KvEntry, void, undefined> {
    return this.since(0);
  }

  async watch(onChange: (change: KvChange) => void): Promise<() => void> {
    await this.#arrives();
    for (const entry of this.bucket.entries.values()) onChange(entry);
    this.bucket.followers.add(onChange);
    return () => this.bucket.followers.delete(onChange);
  }

  #isAt(key: string, revision: number | null): boolean {
    return this.overwrites || (this.bucket.entries.get(key)?.revision ?? null) === revision;
  }

  #write(key: string, value: Uint8Array): number {
    this.puts += 1;
    if (this.failFrom > 0 && this.puts >= this.failFrom)
      throw new SharedStateUnavailable('the bucket refuses');
    const revision = this.bucket.write(key, value);
    if (this.lostAnswers === 0) return revision;
    this.lostAnswers -= 1;
    throw new SharedStateUnavailable('no answer');
  }

  async #arrives(): Promise<void> {
    await this.#held;
    this.requestsLeft -= 1;
    if (this.requestsLeft < 0) this.isUnavailable = true;
    if (this.isUnavailable) throw new SharedStateUnavailable('NATS is away');
  }
}

function entryOf({ key, value, revision }: KvChange): KvEntry {
  return { key, value, revision };
}
