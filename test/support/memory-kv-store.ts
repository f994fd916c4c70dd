/** A bucket of NATS in memory, the methods of a store over it, and each member's own way to it, with its faults. */
import type { KvChange, KvEntry, KvStore } from '../../src/cluster/nats/kv-store.ts';
import { SharedStateUnavailable } from '../../src/core/ports/session-locator.ts';

/** All members see the same of it. */
export class MemoryBucket {
  /** In the order of their revisions, the latest of each key. */
  readonly entries = new Map<string, KvChange>();
  readonly followers = new Set<(change: KvChange) => void>();
  revision = 0;
  readonly #wallMs: () => number;

  constructor(wallMs: () => number = () => 0) {
    this.#wallMs = wallMs;
  }

  write(key: string, value: Uint8Array, isRemoved = false): number {
    this.revision += 1;
    const change = { key, value, revision: this.revision, isRemoved, writtenAtMs: this.#wallMs() };
    this.entries.delete(key);
    this.entries.set(key, change);
    for (const follower of Array.from(this.followers)) follower(change);
    return this.revision;
  }

  /** `revision`: null: it was never written. */
  isAt(key: string, revision: number | null): boolean {
    return (this.entries.get(key)?.revision ?? null) === revision;
  }

  erase(matches: (change: KvChange) => boolean): void {
    for (const change of Array.from(this.entries.values()))
      if (matches(change)) this.entries.delete(change.key);
  }

  behind(revision: number): KvChange[] {
    return Array.from(this.entries.values()).filter((change) => change.revision > revision);
  }

  open(): MemoryKvStore {
    return new MemoryKvStore(this);
  }
}

/** Has something done at the bucket. Rejects with SharedStateUnavailable. */
type Request = <Value>(act: () => Value) => Promise<Value>;

export abstract class BucketStore implements KvStore {
  readonly bucket: MemoryBucket;
  protected readonly request: Request;

  constructor(bucket: MemoryBucket, request: Request) {
    this.bucket = bucket;
    this.request = request;
  }

  abstract watch(onChange: (change: KvChange) => void): Promise<() => void>;

  find(key: string): Promise<KvEntry | null> {
    return this.request(() => {
      const found = this.bucket.entries.get(key);
      return found === undefined ? null : entryOf(found);
    });
  }

  put(key: string, value: Uint8Array): Promise<number> {
    return this.request(() => this.bucket.write(key, value));
  }

  compareAndSet(key: string, value: Uint8Array, revision: number | null): Promise<number | null> {
    return this.request(() => (this.bucket.isAt(key, revision) ? this.bucket.write(key, value) : null));
  }

  remove(key: string, revision: number | null): Promise<boolean> {
    return this.request(() => {
      const isDone = revision === null || this.bucket.isAt(key, revision);
      if (isDone) this.bucket.write(key, new Uint8Array(), true);
      return isDone;
    });
  }

  eraseAll(prefix: string): Promise<void> {
    return this.request(() => this.bucket.erase(({ key }) => key.startsWith(`${prefix}.`)));
  }

  erase(revision: number): Promise<void> {
    return this.request(() => this.bucket.erase((change) => change.revision === revision));
  }

  position(): Promise<number> {
    return this.request(() => this.bucket.revision);
  }

  async *since(position: number): AsyncGenerator<KvEntry, void, undefined> {
    for (const change of await this.request(() => this.bucket.behind(position))) yield entryOf(change);
  }

  all(): AsyncGenerator<KvEntry, void, undefined> {
    return this.since(0);
  }
}

export class MemoryKvStore extends BucketStore {
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
  /** Requests wait for it. */
  #held: Promise<void> | null = null;
  /** Lets held requests, and later ones, continue. */
  release: () => void = () => undefined;

  constructor(bucket = new MemoryBucket()) {
    super(bucket, async (act) => {
      await this.#arrives();
      return act();
    });
  }

  hold(): void {
    this.#held = new Promise((resolve) => (this.release = resolve));
  }

  override find(key: string): Promise<KvEntry | null> {
    this.reads += 1;
    return super.find(key);
  }

  override put(key: string, value: Uint8Array): Promise<number> {
    return this.request(() => this.#write(key, value));
  }

  override compareAndSet(key: string, value: Uint8Array, revision: number | null): Promise<number | null> {
    return this.request(() => {
      this.beforePut(key);
      return this.overwrites || this.bucket.isAt(key, revision) ? this.#write(key, value) : null;
    });
  }

  watch(onChange: (change: KvChange) => void): Promise<() => void> {
    return this.request(() => {
      for (const entry of this.bucket.entries.values()) onChange(entry);
      this.bucket.followers.add(onChange);
      return () => this.bucket.followers.delete(onChange);
    });
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
