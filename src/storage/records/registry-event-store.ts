/**
 * Appends registry changes to the event log: each event is committed together with the place of its notice. Source: events.md, The
 * log.
 */
import type { Journal } from '../journal/journal.ts';
import { JournalSlot } from '../journal/journal-slot.ts';
import type { RegistryTransition } from '../journal/transition.ts';
import type { Environment, Table } from '../lmdb/environment.ts';
import type { StateTables } from '../lmdb/state-tables.ts';
import type { PlacedNotice } from '../registry/registry-notices.ts';

const newestKey = Buffer.from('newest');

export class RegistryEventStore {
  readonly #environment: Environment;
  readonly #published: Table<number>;
  readonly #journal: Journal;
  readonly #slot: JournalSlot<RegistryTransition>;

  constructor(state: StateTables, journal: Journal) {
    this.#environment = state.environment;
    this.#published = state.publishedNotices;
    this.#journal = journal;
    this.#slot = new JournalSlot(journal, (_key, { place }) => void this.#published.put(newestKey, place));
  }

  /** Place of the newest notice with a committed event; 0: none. Throws when the store cannot be read. */
  get newestPlace(): number {
    this.#environment.refresh();
    return this.#published.get(newestKey) ?? 0;
  }

  /** `notices` ascend by place. Resolves when all are committed. */
  async append(notices: readonly PlacedNotice[]): Promise<void> {
    for (const { place, productId, event } of notices)
      this.#slot.write(String(place), { kind: 'registry', place, productId, event }, true);
    await this.#journal.allCommitted();
  }
}
