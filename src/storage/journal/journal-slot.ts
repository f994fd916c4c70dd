/**
 * A table's slot in the journal: its uncommitted transitions. Reads see the newest one of each key; the journal puts them in
 * order.
 */
import { RenewedMap } from '../../lib/collections/renewed-map.ts';
import type { ProductId } from '../../model/ids.ts';
import type { CommitEntry } from './committer.ts';
import type { Transition } from './transition.ts';

/** One write, kept in the journal until it is committed. */
export interface JournalEntry extends CommitEntry {
  waiter: Waiter | null;
  /** True once the entry is in a batch: its content is final. */
  isHandedOver: boolean;
  complete(): void;
}

export interface Waiter {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

export interface EntryQueue {
  /** The product of the event's device; null: no product, or no event. Never throws. */
  productOf(transition: Transition): ProductId | null;
  /** `isAwaited`: the commit starts at the end of this turn of the loop. */
  enqueue(entry: JournalEntry, isAwaited: boolean): void;
  /** Resolves when the entry is committed, and starts the commit sooner. */
  committedOf(entry: JournalEntry): Promise<void>;
}

/**
 * Writes a key's transition into its table, inside a batch. `isLast`: the batch has no later transition of this key, so tables
 * that keep only the final state can skip the others. Never throws.
 */
export type Put<Value extends Transition> = (key: string, value: Value, isLast: boolean) => void;

export class JournalSlot<Value extends Transition> {
  readonly #journal: EntryQueue;
  readonly #put: Put<Value>;
  readonly #onCommitted: (value: Value) => void;
  readonly #newest = new RenewedMap<string, SlotEntry<Value>>();

  /** `onCommitted` receives a key's newest transition once it is committed. Must not throw. */
  constructor(journal: EntryQueue, put: Put<Value>, onCommitted: (value: Value) => void = () => undefined) {
    this.#journal = journal;
    this.#put = put;
    this.#onCommitted = onCommitted;
  }

  /** The newest uncommitted transition; undefined: read the table. */
  get(key: string): Value | undefined {
    return this.#newest.get(key)?.transition;
  }

  /** Keys with an uncommitted transition, each with the newest one. */
  *entries(): Generator<[string, Value], void, undefined> {
    for (const [key, { transition }] of this.#newest) yield [key, transition];
  }

  write(key: string, transition: Value, isAwaited: boolean): void {
    const productId = this.#journal.productOf(transition);
    const entry = new SlotEntry(this.#newest, this.#put, this.#onCommitted, key, transition, productId);
    const newest = this.#newest.get(key);
    if (newest !== undefined) newest.next = entry;
    this.#newest.set(key, entry);
    this.#journal.enqueue(entry, isAwaited);
  }

  /**
   * Writes a transition without an event that no caller awaits. If the key's newest transition is not handed over yet, `onto`
   * merges both, so the journal does not grow while the store refuses commits.
   */
  amend(key: string, transition: Value, onto: (newest: Value) => Value): void {
    const newest = this.#newest.get(key);
    if (newest === undefined || newest.isHandedOver) this.write(key, transition, false);
    else newest.transition = onto(newest.transition);
  }

  /** Resolves when the key's newest transition is committed, and starts the commit sooner; null: it is committed already. */
  committed(key: string): Promise<void> | null {
    const entry = this.#newest.get(key);
    return entry === undefined ? null : this.#journal.committedOf(entry);
  }
}

class SlotEntry<Value extends Transition> implements JournalEntry {
  readonly productId: ProductId | null;
  transition: Value;
  waiter: Waiter | null = null;
  isHandedOver = false;
  /** The key's next entry; null: this is the newest. */
  next: SlotEntry<Value> | null = null;
  readonly #newest: RenewedMap<string, SlotEntry<Value>>;
  readonly #put: Put<Value>;
  readonly #onCommitted: (value: Value) => void;
  readonly #key: string;

  constructor(
    newest: RenewedMap<string, SlotEntry<Value>>,
    put: Put<Value>,
    onCommitted: (value: Value) => void,
    key: string,
    transition: Value,
    productId: ProductId | null,
  ) {
    this.#newest = newest;
    this.#put = put;
    this.#onCommitted = onCommitted;
    this.#key = key;
    this.transition = transition;
    this.productId = productId;
  }

  put(): void {
    // Only one batch is under way: every entry handed over is in it.
    this.#put(this.#key, this.transition, this.next?.isHandedOver !== true);
  }

  complete(): void {
    if (this.#newest.get(this.#key) !== this) return;
    this.#newest.delete(this.#key);
    this.#onCommitted(this.transition);
  }
}
