/**
 * What becomes of the keys of members, as it happens. JetStream's own watch notices after a minute that what sends to it
 * is gone; whoever finds that nothing comes any more begins it anew, and sees everything there is once more.
 */
import type { KvEntry, KvWatchEntry } from '@nats-io/kv';
import type { QueuedIterator } from '@nats-io/nats-core';
import type { Clock } from '../../lib/clock.ts';
import type { NatsLink } from '../nats/nats-link.ts';

/** How long it is remembered that a member was there: until those who were cut off have seen it. */
const markerKeptMs = 3600 * 1000;

export class NatsMembersWatch {
  readonly #link: NatsLink;
  readonly #clock: Clock;
  readonly #saw: (entry: KvEntry) => void;
  #round = 0;
  #entries: QueuedIterator<KvWatchEntry> | null = null;

  constructor(deps: { link: NatsLink; clock: Clock; saw: (entry: KvEntry) => void }) {
    this.#link = deps.link;
    this.#clock = deps.clock;
    this.#saw = deps.saw;
  }

  /** Resolves when what changes from now on will be seen. Rejects while NATS is away. */
  async begin(): Promise<void> {
    this.stop();
    const round = this.#round;
    const bucket = await this.#link.bucket('members');
    const entries = await bucket.watch();
    if (round === this.#round) {
      this.#entries = entries;
      void this.#follow(entries);
    } else entries.stop();
  }

  stop(): void {
    this.#round++;
    this.#entries?.stop();
    this.#entries = null;
  }

  async #follow(entries: QueuedIterator<KvWatchEntry>): Promise<void> {
    for await (const entry of entries) {
      if (entries !== this.#entries) return;
      this.#saw(entry);
      if (entry.operation !== 'PUT') this.#forget(entry);
    }
  }

  /** Every life of every member leaves a mark; old ones are taken away, by whoever comes by. */
  #forget({ created, revision }: KvEntry): void {
    if (this.#clock.wallMs() - created.getTime() < markerKeptMs) return;
    this.#link
      .jetstream()
      .jetstreamManager(false)
      .then(({ streams }) => streams.deleteMessage(this.#link.names.bucketStream('members'), revision))
      .catch(() => undefined);
  }
}
