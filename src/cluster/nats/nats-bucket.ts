/**
 * A bucket of JetStream. Reads go to the leader of its stream: a row that is old by a moment would call a session gone
 * that has just come. But a leader that died is missed for seconds, until the others have chosen the next one: then a
 * server that follows answers. Source: cluster.md, Ownership.
 */
import type { JetStreamManager } from '@nats-io/jetstream';
import type { Clock } from '../../lib/clock.ts';
import { settlesWithin } from '../../lib/settles-within.ts';
import { JetStreamSource } from '../events/jetstream-source.ts';
import { isConflict } from './nats-conflict.ts';
import type { BucketName } from './nats-names.ts';
import type { NatsLink } from './nats-link.ts';
import { readElsewhereMs } from '../records/row-limits.ts';
import type { HeartbeatBucket, KeptValue, RowBucket } from '../records/row-bucket.ts';

/** Asked of JetStream ahead of those that are looked at. */
const waitingMax = 1000;

export class NatsBucket implements RowBucket, HeartbeatBucket {
  readonly #link: NatsLink;
  readonly #stream: string;
  readonly #subjects: string;
  readonly #clock: Clock;

  constructor(link: NatsLink, name: BucketName, clock: Clock) {
    this.#link = link;
    this.#clock = clock;
    this.#stream = link.names.bucketStream(name);
    this.#subjects = `$KV.${link.names.bucket(name)}.`;
  }

  async get(key: string): Promise<KeptValue | null> {
    const manager = await this.#manager();
    const query = { last_by_subj: this.#subjects + key };
    const atLeader = manager.streams.getMessage(this.#stream, query);
    const found = await this.#orElsewhere(atLeader, () => manager.direct.getMessage(this.#stream, query));
    return found === null ? null : { bytes: found.data, revision: found.seq };
  }

  /** The first that answers. Rejects when neither does. */
  async #orElsewhere<Found>(atLeader: Promise<Found>, read: () => Promise<Found>): Promise<Found> {
    if (await settlesWithin(this.#clock, readElsewhereMs, atLeader)) return atLeader;
    return Promise.any([atLeader, read()]);
  }

  async put(key: string, bytes: Uint8Array, revision: number): Promise<number | null> {
    this.#mustBeThere();
    try {
      const expect = { lastSubjectSequence: revision };
      const { seq } = await this.#link.jetstream().publish(this.#subjects + key, bytes, { expect });
      return seq;
    } catch (error) {
      if (isConflict(error)) return null;
      throw error;
    }
  }

  async set(key: string, bytes: Uint8Array): Promise<void> {
    this.#mustBeThere();
    await this.#link.jetstream().publish(this.#subjects + key, bytes);
  }

  async removeAll(prefix: string): Promise<void> {
    const manager = await this.#manager();
    await manager.streams.purge(this.#stream, { filter: `${this.#subjects}${prefix}.>` });
  }

  async position(): Promise<number> {
    const manager = await this.#manager();
    const { state } = await manager.streams.info(this.#stream);
    return state.last_seq;
  }

  /** A reading that breaks off goes on behind what it has brought, as long as each brings something. */
  async *since(position: number): AsyncGenerator<KeptValue, void, undefined> {
    for (let behind = position; ;) {
      const end = yield* this.#readBehind(behind);
      if (end === null) return;
      if (end === behind) throw new Error('the rows could not be read to their end');
      behind = end;
    }
  }

  /** Returns null when it has read to the end, else the revision behind which it is to go on. */
  async *#readBehind(position: number): AsyncGenerator<KeptValue, number | null, undefined> {
    const tail = await new JetStreamSource(this.#link, this.#stream).open(position, waitingMax);
    try {
      if (tail.pending === 0) return null;
      let read = position;
      for await (const { data: bytes, sequence: revision, pending } of tail.messages) {
        yield { bytes, revision };
        if (pending === 0 || revision >= tail.last) return null;
        read = revision;
      }
      return read;
    } finally {
      tail.close();
    }
  }

  #manager(): Promise<JetStreamManager> {
    this.#mustBeThere();
    return this.#link.jetstream().jetstreamManager(false);
  }

  /** What would wait for the connection to come back is to fail instead. */
  #mustBeThere(): void {
    if (this.#link.isUnavailable) throw new Error('NATS is away');
  }
}
