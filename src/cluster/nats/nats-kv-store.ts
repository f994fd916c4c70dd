/**
 * A bucket of JetStream. Reads go to the leader of its stream: a row that is old by a moment would call a session gone
 * that has just come. A leader that died is missed for seconds, until the others have chosen the next one: where a device
 * waits for the answer, any server that keeps the stream answers then. Source: cluster.md, Ownership.
 */
import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';
import { Kvm, type KV, type KvWatchEntry } from '@nats-io/kv';
import type { QueuedIterator } from '@nats-io/nats-core';
import { type Cancel, type Clock, completesWithin } from '../../lib/clock.ts';
import { messageOf } from '../../lib/result.ts';
import { SharedStateUnavailable } from '../../core/ports/session-locator.ts';
import { JetStreamSource } from '../events/jetstream-source.ts';
import { bucketAnswerMsMax } from '../events/log-limits.ts';
import { readElsewhereMs } from '../records/row-limits.ts';
import type { KvChange, KvEntry, KvStore } from './kv-store.ts';
import type { NatsLink } from './nats-link.ts';
import type { BucketName } from './nats-names.ts';

/** Entries asked of JetStream ahead of those that are looked at. */
const entriesAheadMax = 1000;

/** Devices wait for these: any replica may answer a read, and a write fails after the 2 s of every request. */
const urgent: ReadonlySet<BucketName> = new Set(['rows', 'heartbeats']);
/** The members' leases are read from the leader alone, and written within 2 s too. */
const writtenSoon: ReadonlySet<BucketName> = new Set([...urgent, 'members']);

/** Newer servers have a code of its own for a refusal that does not name the sequence they found. */
const conflictCodes: ReadonlySet<number> = new Set([
  JetStreamApiCodes.StreamWrongLastSequence,
  JetStreamApiCodes.StreamWrongLastSequenceUnknown,
]);

export class NatsKvStore implements KvStore {
  readonly #link: NatsLink;
  readonly #bucket: BucketName;
  readonly #clock: Clock;
  readonly #source: JetStreamSource;
  readonly #subjects: string;
  /** The bucket as its leader answers, and as any replica does. */
  readonly #leader = this.#opening(false);
  readonly #anyReplica = this.#opening(true);
  readonly #writeOptions: { readonly timeout?: number };

  constructor(link: NatsLink, bucket: BucketName, clock: Clock) {
    this.#link = link;
    this.#bucket = bucket;
    this.#clock = clock;
    this.#source = new JetStreamSource(link, link.names.bucketStream(bucket));
    this.#subjects = `$KV.${link.names.bucket(bucket)}.`;
    this.#writeOptions = writtenSoon.has(bucket) ? {} : { timeout: bucketAnswerMsMax };
  }

  find(key: string): Promise<KvEntry | null> {
    return this.#reach(async () => {
      const found = await this.#read(key);
      return found && { key, value: found.value, revision: found.revision };
    });
  }

  put(key: string, value: Uint8Array): Promise<number> {
    return this.#reach(async () => (await this.#leader()).put(key, value, this.#writeOptions));
  }

  compareAndSet(key: string, value: Uint8Array, revision: number | null): Promise<number | null> {
    const options = { ...this.#writeOptions, previousSeq: revision ?? 0 };
    return this.#reach(async () => unlessConflict((await this.#leader()).put(key, value, options)));
  }

  async remove(key: string, revision: number | null): Promise<boolean> {
    const options = revision === null ? {} : { previousSeq: revision };
    const removed = await this.#reach(async () =>
      unlessConflict((await this.#leader()).delete(key, options).then(() => true)),
    );
    return removed !== null;
  }

  async eraseAll(prefix: string): Promise<void> {
    const filter = `${this.#subjects}${prefix}.>`;
    await this.#reach(async () => (await this.#link.streams()).purge(this.#source.stream, { filter }));
  }

  async erase(revision: number): Promise<void> {
    await this.#reach(async () => (await this.#link.streams()).deleteMessage(this.#source.stream, revision));
  }

  position(): Promise<number> {
    return this.#reach(() => this.#source.last());
  }

  /** A reading that breaks off goes on behind what it has brought, as long as each brings something. */
  async *since(position: number): AsyncGenerator<KvEntry, void, undefined> {
    for (let behind = position; ;) {
      const end = yield* this.#readBehind(behind);
      if (end === null) return;
      if (end === behind) throw new SharedStateUnavailable('a bucket could not be read to its end');
      behind = end;
    }
  }

  /** What is replaced meanwhile moves to the end, so that the end is where nothing newer is. */
  async *all(): AsyncGenerator<KvEntry, void, undefined> {
    let newest = await this.#newest();
    if (newest === 0) return;
    const tail = await this.#reach(() => this.#source.open(0, entriesAheadMax));
    try {
      for await (const { sequence: revision, subject, data: value } of tail.messages) {
        yield { key: this.#keyOf(subject), value, revision };
        if (revision >= newest) newest = await this.#newest();
        if (revision >= newest) return;
      }
      throw new SharedStateUnavailable('NATS became unavailable while a bucket was read');
    } finally {
      tail.close();
    }
  }

  async watch(onChange: (change: KvChange) => void): Promise<Cancel> {
    const entries = await this.#reach(async () => (await this.#leader()).watch());
    let isStopped = false;
    void follow(entries, (change) => isStopped || onChange(change));
    return () => {
      isStopped = true;
      entries.stop();
    };
  }

  /** Rejects when neither the leader nor any other answers. */
  async #read(key: string): Promise<{ readonly value: Uint8Array; readonly revision: number } | null> {
    const atLeader = (await this.#leader()).get(key);
    if (!urgent.has(this.#bucket) || (await completesWithin(this.#clock, readElsewhereMs, atLeader)))
      return atLeader;
    return Promise.any([atLeader, this.#anyReplica().then((kv) => kv.get(key))]);
  }

  /** Returns null when it has read to the end, else the revision behind which it is to go on. */
  async *#readBehind(position: number): AsyncGenerator<KvEntry, number | null, undefined> {
    const tail = await this.#reach(() => this.#source.open(position, entriesAheadMax));
    try {
      if (tail.pending === 0) return null;
      let read = position;
      for await (const { data: value, subject, sequence: revision, pending } of tail.messages) {
        yield { key: this.#keyOf(subject), value, revision };
        if (pending === 0 || revision >= tail.last) return null;
        read = revision;
      }
      return read;
    } finally {
      tail.close();
    }
  }

  #newest(): Promise<number> {
    return this.#reach(() => this.#source.newest());
  }

  #keyOf(subject: string): string {
    return subject.slice(this.#subjects.length);
  }

  /** Opens the bucket at the first call, which is made only while NATS can be reached. */
  #opening(anyReplica: boolean): () => Promise<KV> {
    let opened: Promise<KV> | null = null;
    return () => {
      const { names } = this.#link;
      opened ??= new Kvm(this.#link.jetstream()).open(names.bucket(this.#bucket), {
        allow_direct: anyReplica,
      });
      return opened;
    };
  }

  /** Fails while there is no connection: the client would wait for it to come back. */
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

/** True when JetStream refused a write because another one came first. */
export function isConflict(error: unknown): boolean {
  return error instanceof JetStreamApiError && conflictCodes.has(error.code);
}

async function unlessConflict<Value>(write: Promise<Value>): Promise<Value | null> {
  try {
    return await write;
  } catch (error) {
    if (isConflict(error)) return null;
    throw error;
  }
}

async function follow(
  entries: QueuedIterator<KvWatchEntry>,
  onChange: (change: KvChange) => void,
): Promise<void> {
  for await (const { key, value, revision, operation, created } of entries)
    onChange({ key, value, revision, isRemoved: operation !== 'PUT', writtenAtMs: created.getTime() });
}
