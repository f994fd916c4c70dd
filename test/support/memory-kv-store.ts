/** A NATS bucket in memory, a store over it, and a connection with faults of its own for each member. */
import type { KvChange, KvEntry, KvStore } from '../../src/cluster/nats/kv-store.ts';
import { SharedStateUnavailable } from '../../src/core/ports/session-locator.ts';

export class MemoryBucket {
  /** The latest change of each key, in order of revision. */
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

/** Runs a request at the bucket. Rejects with SharedStateUnavailable. */
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
  /** Number of writes that take effect and whose answers are lost. */
  lostAnswers = 0;
  /** Number of requests until it becomes unavailable. */
  requestsLeft = Infinity;
  reads = 0;
  puts = 0;
  /** Puts from this number on reject; 0: none. */
  failFrom = 0;
  /** Called before each compare-and-set, so that a test can write first. */
  beforePut: (key: string) => void = () => undefined;
  /** True: it overwrites without comparing, for a canary. */
  overwrites = false;
  #held: Promise<void> | null = null;
  /** Releases withheld requests and all later ones. */
  release: () => void = () => undefined;

  constructor(bucket = new MemoryBucket()) {
    super(bucket, async (act) => {
      await this.#arrives();
      return act();
    });
  }

  withhold(): void {
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
