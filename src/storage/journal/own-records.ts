/** Record store of a single server: rows and events of a batch in one transaction. */
import { EventWriter } from '../events/event-writer.ts';
import type { StateTables } from '../lmdb/state-tables.ts';
import type { CommitEntry, OnVisible, RecordStore, WrittenBatch } from './committer.ts';
import { eventOf } from './transition.ts';

export class OwnRecords implements RecordStore {
  readonly #events: EventWriter;

  constructor(state: StateTables) {
    this.#events = new EventWriter(state);
  }

  write(entries: readonly CommitEntry[]): WrittenBatch {
    const events = this.#events;
    const happened = entries.flatMap(({ transition, productId }) => {
      const event = eventOf(transition);
      return event === null ? [] : [{ event, productId }];
    });
    const placed = events.place(happened);
    for (const entry of entries) entry.put();
    events.put(placed);
    // Not literals in the object: V8 allocates those in old memory, where they keep the events until a full collection.
    const isVisible = (): boolean => events.isVisible(placed);
    const notify = (onVisible: OnVisible): void => onVisible(placed.events);
    return { isVisible, notify };
  }
}
