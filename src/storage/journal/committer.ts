/**
 * Commits a batch of transitions in one transaction of the store, then publishes its events once they are visible. The record
 * store decides what is written: rows and the event log (own-records.ts), or rows and the outbox of a node (outbox-records.ts).
 * Source: cluster.md.
 */
import type { LoggedEvent } from '../../model/events.ts';
import type { ProductId } from '../../model/ids.ts';
import { deviceOfEvent, type Transition } from './transition.ts';
import type { VisibilityWatch } from '../lmdb/environment.ts';

/** One write as a record store sees it: handed over, so its content is final. */
export interface CommitEntry {
  readonly transition: Transition;
  /** The product of the event's device when the event happened; null: no product, or no event. */
  readonly productId: ProductId | null;
  /** Puts the entry's state without its event. Inside a transaction. Never throws. */
  put(): void;
}

/** Receives a batch's events as they stand in the log; empty on a node, whose events get their places in the shared log. */
export type OnVisible = (events: readonly LoggedEvent[]) => void;

export interface RecordStore {
  /**
   * Inside a transaction: decides the batch in its order, then puts it. Throws when the store cannot be read; nothing was put
   * then.
   */
  write(entries: readonly CommitEntry[]): WrittenBatch;
}

/** The result of `RecordStore.write`, not committed yet. */
export interface WrittenBatch {
  /** True if reads see this batch, not what another writer put in its place. Always false without events. Never throws. */
  isVisible(): boolean;
  /** After the commit: calls `onVisible`, then notifies the outbox's followers. Never throws. */
  notify(onVisible: OnVisible): void;
}

export interface Transactions {
  transaction(write: () => void, watch: VisibilityWatch | null): Promise<void>;
  refresh(): void;
}

export class Committer {
  readonly #transactions: Transactions;
  readonly #store: RecordStore;
  /** The batch whose events are not published yet; null: none. */
  #unpublished: { readonly batch: WrittenBatch; readonly onVisible: OnVisible } | null = null;
  /** One for all commits: V8 allocates function literals in an object in old memory, where they would keep each batch. */
  readonly #watch: VisibilityWatch = {
    isVisible: () => this.#isVisible(),
    onVisible: () => this.#complete(),
  };

  constructor(transactions: Transactions, store: RecordStore) {
    this.#transactions = transactions;
    this.#store = store;
  }

  /**
   * Commits all entries in the order given, or none. Rejects when nothing was committed, and may then be called again, unless
   * `onVisible` was called. One call at a time. `onVisible` is called once, before the promise resolves, when the batch is
   * visible and survives `kill -9`; the disk may not have it yet.
   */
  async commit(entries: readonly CommitEntry[], onVisible: OnVisible): Promise<void> {
    // Only batches with events are watched for early visibility.
    const isAwaited = entries.some(({ transition }) => deviceOfEvent(transition) !== null);
    try {
      await this.#transactions.transaction(
        () => {
          this.#unpublished = { batch: this.#store.write(entries), onVisible };
        },
        isAwaited ? this.#watch : null,
      );
      this.#complete();
    } catch (error) {
      this.#transactions.refresh();
      if (this.#isVisible()) this.#complete();
      this.#unpublished = null;
      throw error;
    }
  }

  #isVisible(): boolean {
    return this.#unpublished !== null && this.#unpublished.batch.isVisible();
  }

  #complete(): void {
    if (this.#unpublished === null) return;
    const { batch, onVisible } = this.#unpublished;
    this.#unpublished = null;
    batch.notify(onVisible);
  }
}
