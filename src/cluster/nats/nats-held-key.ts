/**
 * A key of a bucket that one member holds by compare-and-set: each write expects the revision of its own last one, so
 * that a write of anybody else ends the holding. Writes come one after another.
 */
import type { KV } from '@nats-io/kv';
import { SerialQueue } from '../../lib/serial-queue.ts';
import { isConflict } from './nats-conflict.ts';

export class NatsHeldKey {
  readonly #bucket: KV;
  readonly #key: string;
  readonly #writes = new SerialQueue();
  #revision: number;

  /** `revision`: what is there now; 0: nothing. */
  constructor(bucket: KV, key: string, revision: number) {
    this.#bucket = bucket;
    this.#key = key;
    this.#revision = revision;
  }

  get revision(): number {
    return this.#revision;
  }

  /** False: somebody else has written it. Rejects while NATS is away; then it may be written or not. */
  write(value: Uint8Array): Promise<boolean> {
    return this.#next(async () => {
      const expected = { previousSeq: this.#revision };
      this.#revision = await this.#bucket.put(this.#key, value, expected);
    });
  }

  /** False: somebody else has written it. */
  remove(): Promise<boolean> {
    return this.#next(() => this.#bucket.delete(this.#key, { previousSeq: this.#revision }));
  }

  async #next(change: () => Promise<void>): Promise<boolean> {
    try {
      await this.#writes.run(change);
      return true;
    } catch (error) {
      if (isConflict(error)) return false;
      throw error;
    }
  }
}
