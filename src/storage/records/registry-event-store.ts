/**
 * Changes of the registry as events of the log: each is put with the place of its notice, both or neither. Source: events.md,
 * The log.
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
  readonly #told: Table<number>;
  readonly #journal: Journal;
  readonly #slot: JournalSlot<RegistryTransition>;

  constructor(state: StateTables, journal: Journal) {
    this.#environment = state.environment;
    this.#told = state.toldNotices;
    this.#journal = journal;
    this.#slot = new JournalSlot(journal, (_key, { place }) => void this.#told.put(newestKey, place));
  }

  /** The place of the newest notice whose event is in the log, committed; 0: none. Throws when the store cannot be read. */
  get newestPlace(): number {
    this.#environment.refresh();
    return this.#told.get(newestKey) ?? 0;
  }

  /** In the order of their places. Resolves when all are committed. */
  async tell(notices: readonly PlacedNotice[]): Promise<void> {
    for (const { place, productId, event } of notices)
      this.#slot.write(String(place), { kind: 'registry', place, productId, event }, true);
    await this.#journal.allCommitted();
  }
}
