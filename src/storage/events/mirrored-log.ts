/**
 * A node's copy of the shared event log: events of the stream keep their sequences there, and are read, awaited, delivered and
 * removed like those of a log of its own. Stream sequences without an event have no row. If the stream has lost the next
 * sequence, for example after a long absence, older events are removed here, so that readers learn of the gap. Source:
 * cluster.md, Events.
 */
import type { LoggedEvent } from '../../model/events.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { MirroredLog } from '../../core/ports/mirrored.ts';
import {
  eventIdMs,
  eventKey,
  forgottenKey,
  sequenceOf,
  type EventSeqsRow,
  type EventTables,
} from './event-rows.ts';
import type { EventStore } from './event-store.ts';
import { addLatest, EventWriter } from './event-writer.ts';
import type { StateTables } from '../lmdb/state-tables.ts';
import { mirrorEventsSlice } from '../lmdb/store-limits.ts';
import { StoredEvents } from './stored-events.ts';

export interface MirroredLogDeps {
  readonly events: Pick<EventStore, 'refresh' | 'forgotten'>;
  readonly batch: (write: () => void) => Promise<void>;
}

export class MirroredLogStore implements MirroredLog {
  readonly #tables: EventTables;
  readonly #deps: MirroredLogDeps;
  readonly #writer: EventWriter;
  #head: number;

  /** Throws when the store cannot be read. */
  constructor(state: StateTables, deps: MirroredLogDeps) {
    this.#tables = state.events;
    this.#deps = deps;
    this.#writer = new EventWriter(state);
    this.#head = new StoredEvents(state).head;
  }

  get head(): number {
    return this.#head;
  }

  /** The device's newest mirrored seq; 0: none. Throws when the store cannot be read. */
  seqOf(deviceId: DeviceId): number {
    return this.#tables.seqs.get(Buffer.from(deviceId))?.[0] ?? 0;
  }

  /** One call at a time. After a rejection, append the uncommitted events again. */
  async append(events: readonly LoggedEvent[], isUnbroken = false): Promise<void> {
    const fresh = events.filter(({ sequence }) => sequence > this.#head);
    const [first] = fresh;
    if (first === undefined) return;
    if (!isUnbroken && first.sequence > this.#head + 1) await this.#jumpTo(first);
    for (let start = 0; start < fresh.length; start += mirrorEventsSlice)
      await this.#put(fresh.slice(start, start + mirrorEventsSlice));
  }

  async #put(events: readonly LoggedEvent[]): Promise<void> {
    const seqs = this.#seqsAfter(events);
    await this.#deps.batch(() => this.#writer.put({ events, seqs }));
    this.#head = events.at(-1)?.sequence ?? this.#head;
    this.#deps.events.refresh();
  }

  #seqsAfter(events: readonly LoggedEvent[]): Map<DeviceId, EventSeqsRow> {
    const seqs = new Map<DeviceId, EventSeqsRow>();
    for (const { deviceId, seq, sequence } of events) {
      const row = seqs.get(deviceId) ?? this.#writer.readSeqs(deviceId);
      row[0] = Math.max(row[0], seq);
      addLatest(row, sequence);
      seqs.set(deviceId, row);
    }
    return seqs;
  }

  /** Removes the oldest first: after a crash the log ends where it did, and the next `append` jumps again. */
  async #jumpTo({ sequence, id }: LoggedEvent): Promise<void> {
    const limit = mirrorEventsSlice;
    for (;;) {
      const keys = Array.from(this.#tables.events.getKeys({ end: eventKey(sequence), limit }));
      const isLast = keys.length < limit;
      const last = keys.at(-1);
      const newest = isLast || last === undefined ? sequence - 1 : sequenceOf(last);
      await this.#deps.batch(() => {
        for (const key of keys) void this.#tables.events.remove(key);
        void this.#tables.forgotten.put(forgottenKey, [newest, eventIdMs(id)]);
      });
      this.#deps.events.forgotten(newest);
      if (isLast) break;
    }
    this.#head = sequence - 1;
  }
}
