/**
 * The one way a server commits a batch of transitions: in one transaction of its store, and its events are shown once they
 * can be seen. The record store decides what is written: rows and the event log (own-records.ts), or rows and the outbox of a
 * node (outbox-records.ts). Source: cluster.md.
 */
import type { LoggedEvent } from '../../model/events.ts';
import type { ProductId } from '../../model/ids.ts';
import { deviceOfEvent, type Transition } from './transition.ts';
import type { Sight } from '../lmdb/environment.ts';

/** One write, as a record store sees it: handed over, so that what it says is fixed. */
export interface CommitEntry {
  readonly transition: Transition;
  /** What the device of its event was of when it happened; null: nothing, or there is no event. */
  readonly productId: ProductId | null;
  /** Puts what the entry says of the state, without its event. Inside a transaction. Never throws. */
  put(): void;
}

/** Told of a batch's events as they stand in the log: none, where they get their places elsewhere. */
export type Seen = (events: readonly LoggedEvent[]) => void;

export interface RecordStore {
  /** Inside a transaction: decides the batch in its order, then puts it. Throws when the store cannot be read, and has put nothing. */
  write(entries: readonly CommitEntry[]): WrittenBatch;
}

/** What one transaction has put. */
export interface WrittenBatch {
  /** This batch, and not what another put there; false where it has nothing to be told. Never throws. */
  isVisible(): boolean;
  /** Once it is committed: whose sessions they are hears first, then `seen`, then who else follows. Never throws. */
  tell(seen: Seen): void;
}

/** How a batch is committed, all or nothing; as an environment does. */
export interface Transactions {
  transaction(write: () => void, sight: Sight | null): Promise<void>;
  refresh(): void;
}

export class Committer {
  readonly #transactions: Transactions;
  readonly #store: RecordStore;
  /** Put, and not yet told; null: nothing is under way, or it was told. */
  #landing: { readonly batch: WrittenBatch; readonly seen: Seen } | null = null;

  constructor(transactions: Transactions, store: RecordStore) {
    this.#transactions = transactions;
    this.#store = store;
  }

  /**
   * All or nothing, in the order given: rejects when none of it is there, and may then be called again, unless `seen` was
   * told. One call at a time. `seen` is told once and before the promise resolves, when what was put is visible and proof
   * against `kill -9`, though the disk may not have it.
   */
  async commit(entries: readonly CommitEntry[], seen: Seen): Promise<void> {
    // Nobody but who is told of events is in a hurry.
    const isAwaited = entries.some(({ transition }) => deviceOfEvent(transition) !== null);
    const sight = isAwaited ? { isVisible: () => this.#isVisible(), seen: () => this.#land() } : null;
    try {
      await this.#transactions.transaction(() => {
        this.#landing = { batch: this.#store.write(entries), seen };
      }, sight);
      this.#land();
    } catch (error) {
      this.#transactions.refresh();
      if (this.#isVisible()) this.#land();
      this.#landing = null;
      throw error;
    }
  }

  #isVisible(): boolean {
    return this.#landing !== null && this.#landing.batch.isVisible();
  }

  /** Once a batch. */
  #land(): void {
    if (this.#landing === null) return;
    const { batch, seen } = this.#landing;
    this.#landing = null;
    batch.tell(seen);
  }
}
