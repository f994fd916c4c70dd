/**
 * What one member does with the bucket of leases, so that a test lets time go by only when everything that was written
 * before has been seen: JetStream answers when it does, whatever a driven clock says.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type { KV, KvWatchEntry } from '@nats-io/kv';
import type { QueuedIterator } from '@nats-io/nats-core';
import type { NatsLink } from '../../src/cluster/nats/nats-link.ts';

export class ObservedLeases {
  /** To give to who is observed. */
  readonly link: NatsLink;
  readonly #link: NatsLink;
  #pending = 0;
  /** Null: it does not watch. */
  #seen: number | null = null;

  constructor(link: NatsLink) {
    this.#link = link;
    this.link = instead(link, { bucket: async () => this.#bucket(await link.bucket('members')) });
  }

  /** Resolves when nothing is under way, and all that was written by anyone has been seen. */
  async settled(): Promise<void> {
    await this.#idle();
    if (this.#link.isUnavailable || this.#seen === null) return;
    const { streams } = await this.#link.jetstream().jetstreamManager(false);
    const { state } = await streams.info(this.#link.names.bucketStream('members'));
    while (this.#seen !== null && this.#seen < state.last_seq && !this.#link.isUnavailable) await turn();
    await this.#idle();
  }

  async #idle(): Promise<void> {
    do await turn();
    while (this.#pending > 0);
  }

  #bucket(bucket: KV): KV {
    return instead(bucket, {
      put: (...args) => this.#count(bucket.put(...args)),
      get: (...args) => this.#count(bucket.get(...args)),
      delete: (...args) => this.#count(bucket.delete(...args)),
      watch: async (...args) => this.#watch(await this.#count(bucket.watch(...args))),
    });
  }

  #watch(entries: QueuedIterator<KvWatchEntry>): QueuedIterator<KvWatchEntry> {
    this.#seen = 0;
    const saw = (revision: number): void => void (this.#seen = revision);
    const read = async function* (): AsyncGenerator<KvWatchEntry> {
      for await (const entry of entries) {
        saw(entry.revision);
        yield entry;
      }
    };
    const stop = (): void => {
      this.#seen = null;
      entries.stop();
    };
    return instead(entries, { stop, [Symbol.asyncIterator]: read });
  }

  async #count<Value>(work: Promise<Value>): Promise<Value> {
    this.#pending++;
    try {
      return await work;
    } finally {
      this.#pending--;
    }
  }
}

/** The same object but for these members of it. */
function instead<Kind extends object>(real: Kind, others: Partial<Kind>): Kind {
  return new Proxy(real, {
    get(target, key) {
      if (Object.hasOwn(others, key)) return Reflect.get(others, key);
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
