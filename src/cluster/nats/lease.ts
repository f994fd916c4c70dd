/**
 * A key that one member holds by compare-and-set: each write expects the revision of the holder's own last one, so that a
 * write of anyone else ends the lease. Writes come one after another. How long a lease lasts without a renewal is for
 * those who hold it and those who watch it to say. Source: cluster.md, Node loss.
 */
import { SerialQueue } from '../../lib/collections/queues.ts';
import type { KvStore } from './kv-store.ts';

export class Lease {
  readonly #kv: Pick<KvStore, 'compareAndSet' | 'remove'>;
  readonly #key: string;
  readonly #writes = new SerialQueue();
  #revision: number | null;

  /** `revision`: of what is there now; null: nothing is. Nothing is held before the first renewal. */
  constructor(kv: Pick<KvStore, 'compareAndSet' | 'remove'>, key: string, revision: number | null) {
    this.#kv = kv;
    this.#key = key;
    this.#revision = revision;
  }

  /** Takes the key, or keeps it. False: somebody else has written it. Rejects while NATS is unavailable. */
  renew(value: Uint8Array): Promise<boolean> {
    return this.#writes.run(async () => {
      const revision = await this.#kv.compareAndSet(this.#key, value, this.#revision);
      this.#revision = revision ?? this.#revision;
      return revision !== null;
    });
  }

  /** Removes the key. False: somebody else has written it. Rejects while NATS is unavailable. */
  release(): Promise<boolean> {
    return this.#writes.run(() => this.#kv.remove(this.#key, this.#revision));
  }
}
