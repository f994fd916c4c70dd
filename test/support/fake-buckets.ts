/** A bucket of NATS in memory, and each member's own way to it, with its faults. */
import type { HeartbeatBucket, KeptValue, RowBucket } from '../../src/cluster/records/row-bucket.ts';

export class FakeBucket {
  readonly values = new Map<string, KeptValue>();
  revision = 0;

  write(key: string, bytes: Uint8Array): number {
    this.revision += 1;
    this.values.delete(key);
    this.values.set(key, { bytes, revision: this.revision });
    return this.revision;
  }

  open(): FakeBucketWay {
    return new FakeBucketWay(this);
  }
}

export class FakeBucketWay implements RowBucket, HeartbeatBucket {
  readonly #bucket: FakeBucket;
  isUnavailable = false;
  /** So many writes hold, and their answers are lost. */
  lostAnswers = 0;
  /** So many more requests until it is away. */
  requestsLeft = Infinity;
  reads = 0;
  writes = 0;
  /** Called before each compare-and-set: others may be faster. */
  beforePut: (key: string) => void = () => undefined;
  /** It does not compare, for a canary. */
  overwrites = false;
  /** What is asked waits for it. */
  #held: Promise<void> | null = null;
  /** What is held goes on, and what comes after it. */
  release: () => void = () => undefined;

  constructor(bucket: FakeBucket) {
    this.#bucket = bucket;
  }

  hold(): void {
    this.#held = new Promise((resolve) => (this.release = resolve));
  }

  async get(key: string): Promise<KeptValue | null> {
    this.reads += 1;
    await this.#arrives();
    return this.#bucket.values.get(key) ?? null;
  }

  async put(key: string, bytes: Uint8Array, revision: number): Promise<number | null> {
    await this.#arrives();
    this.beforePut(key);
    if (!this.overwrites && (this.#bucket.values.get(key)?.revision ?? 0) !== revision) return null;
    this.writes += 1;
    const written = this.#bucket.write(key, bytes);
    this.#answers();
    return written;
  }

  async set(key: string, bytes: Uint8Array): Promise<void> {
    await this.#arrives();
    this.#bucket.write(key, bytes);
  }

  async removeAll(prefix: string): Promise<void> {
    await this.#arrives();
    for (const key of this.#bucket.values.keys())
      if (key.startsWith(`${prefix}.`)) this.#bucket.values.delete(key);
  }

  async position(): Promise<number> {
    await this.#arrives();
    return this.#bucket.revision;
  }

  async *since(position: number): AsyncGenerator<KeptValue, void, undefined> {
    await this.#arrives();
    for (const value of Array.from(this.#bucket.values.values())) if (value.revision > position) yield value;
  }

  async #arrives(): Promise<void> {
    await this.#held;
    this.requestsLeft -= 1;
    if (this.requestsLeft < 0) this.isUnavailable = true;
    if (this.isUnavailable) throw new Error('NATS is away');
  }

  #answers(): void {
    if (this.lostAnswers === 0) return;
    this.lostAnswers -= 1;
    throw new Error('no answer');
  }
}
