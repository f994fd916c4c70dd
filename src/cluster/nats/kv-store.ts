/** One bucket of NATS, as what is kept in it sees it: values by key, and a revision by which one of two writers wins. */
import { messageOf } from '../../lib/error-message.ts';
import { SharedStateUnavailable } from '../../core/ports/session-locator.ts';
import { JetStreamSource } from '../events/jetstream-source.ts';
import { bucketAnswerMsMax } from '../events/log-limits.ts';
import { isConflict } from './nats-conflict.ts';
import type { BucketName } from './nats-names.ts';
import type { NatsLink } from './nats-link.ts';

export interface KvEntry {
  readonly key: string;
  readonly value: Uint8Array;
  readonly revision: number;
}

/** Each rejects with SharedStateAway while NATS is away, or does not answer in time. */
export interface KvStore {
  find(key: string): Promise<KvEntry | null>;
  /** The new revision. Those called one after the other arrive so. */
  put(key: string, value: Uint8Array): Promise<number>;
  /** `revision` null: there is none yet. Null: somebody else has changed it. */
  compareAndSet(key: string, value: Uint8Array, revision: number | null): Promise<number | null>;
  /** Every key that there was when it began, some of them more than once: the last value is its newest. */
  all(): AsyncIterable<KvEntry>;
}

/** Entries that wait to be looked at. */
const entriesWaitingMax = 4000;

export class NatsKvStore implements KvStore {
  readonly #link: NatsLink;
  readonly #bucket: BucketName;
  readonly #subjects: string;

  constructor(link: NatsLink, bucket: BucketName) {
    this.#link = link;
    this.#bucket = bucket;
    this.#subjects = `$KV.${link.names.bucket(bucket)}.`;
  }

  async find(key: string): Promise<KvEntry | null> {
    const link = this.#link;
    return this.#reach(async () => {
      const manager = await link.jetstream().jetstreamManager(false);
      const query = { last_by_subj: this.#subjects + key };
      const found = await manager.streams.getMessage(link.names.bucketStream(this.#bucket), query);
      return found && { key, value: found.data, revision: found.seq };
    });
  }

  async put(key: string, value: Uint8Array): Promise<number> {
    return this.#reach(() => this.#publish(key, value));
  }

  async compareAndSet(key: string, value: Uint8Array, revision: number | null): Promise<number | null> {
    return this.#reach(async () => {
      try {
        return await this.#publish(key, value, revision ?? 0);
      } catch (error) {
        if (isConflict(error)) return null;
        throw error;
      }
    });
  }

  /** What is replaced meanwhile moves to the end, so that the end is where nothing newer is. */
  async *all(): AsyncGenerator<KvEntry, void, undefined> {
    const source = new JetStreamSource(this.#link, this.#link.names.bucketStream(this.#bucket));
    let newest = await this.#reach(() => source.newest());
    if (newest === 0) return;
    const open = await this.#reach(() => source.open(0, entriesWaitingMax));
    try {
      for await (const { sequence: revision, subject, data: value } of open.messages) {
        yield { key: subject.slice(this.#subjects.length), value, revision };
        if (revision >= newest) newest = await this.#reach(() => source.newest());
        if (revision >= newest) return;
      }
      throw new SharedStateUnavailable('NATS went away while a bucket was read');
    } finally {
      open.close();
    }
  }

  async #publish(key: string, value: Uint8Array, last?: number): Promise<number> {
    const options = last === undefined ? {} : { expect: { lastSubjectSequence: last } };
    const jetstream = this.#link.jetstream();
    const ack = await jetstream.publish(this.#subjects + key, value, {
      timeout: bucketAnswerMsMax,
      ...options,
    });
    return ack.seq;
  }

  async #reach<Value>(ask: () => Promise<Value>): Promise<Value> {
    if (this.#link.isUnavailable) throw new SharedStateUnavailable('NATS is away');
    try {
      return await ask();
    } catch (error) {
      if (error instanceof SharedStateUnavailable) throw error;
      throw new SharedStateUnavailable(`NATS: ${messageOf(error)}`);
    }
  }
}
