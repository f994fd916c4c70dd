/**
 * A table's place in the journal: what of it is not committed yet, the newest of each key, where reads see it, and
 * how it is put when its turn comes.
 */
import type { ProductId } from '../../model/ids.ts';
import type { CommitEntry } from './committer.ts';
import type { Transition } from './transition.ts';

/** What the journal holds of one write, until it is committed. */
export interface JournalEntry extends CommitEntry {
  /** Made when somebody waits for it. */
  waiter: Waiter | null;
  /** It is in a batch, and what it says is fixed. */
  isHandedOver: boolean;
  /** Once it is committed. */
  settle(): void;
}

export interface Waiter {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

/** The journal, as its slots see it. */
export interface EntryTaker {
  /** What the device of the transition's event is of; null: nothing, or there is no event. Never throws. */
  productOf(transition: Transition): ProductId | null;
  /** `isAwaited`: somebody waits for it, so its commit starts at the end of this turn. */
  take(entry: JournalEntry, isAwaited: boolean): void;
  /** Resolves when this entry is committed, and hastens it. */
  committedOf(entry: JournalEntry): Promise<void>;
}

/**
 * Writes what a key's transition leaves into its table, inside a batch. `isLast`: none of the key's comes behind it there;
 * where a transition leaves the whole of what is kept, the last alone needs to be put. Never throws.
 */
export type Put<Value extends Transition> = (key: string, value: Value, isLast: boolean) => void;

export class JournalSlot<Value extends Transition> {
  readonly #journal: EntryTaker;
  readonly #put: Put<Value>;
  readonly #settled: (value: Value) => void;
  readonly #newest = new Map<string, SlotEntry<Value>>();

  /** `settled`: told of a key's newest transition once it is committed. Must not throw. */
  constructor(journal: EntryTaker, put: Put<Value>, settled: (value: Value) => void = () => undefined) {
    this.#journal = journal;
    this.#put = put;
    this.#settled = settled;
  }

  /** The newest transition that is not committed; undefined: ask the table. */
  get(key: string): Value | undefined {
    return this.#newest.get(key)?.transition;
  }

  /** Keys whose newest transition is not committed, and the transitions. */
  *entries(): Generator<[string, Value], void, undefined> {
    for (const [key, { transition }] of this.#newest) yield [key, transition];
  }

  /** Behind everything written so far. */
  write(key: string, transition: Value, isAwaited: boolean): void {
    const productId = this.#journal.productOf(transition);
    const entry = new SlotEntry(this.#newest, this.#put, this.#settled, key, transition, productId);
    const newest = this.#newest.get(key);
    if (newest !== undefined) newest.next = entry;
    this.#newest.set(key, entry);
    this.#journal.take(entry, isAwaited);
  }

  /**
   * A transition without an event that nobody waits for. Where the key's newest one waits to be handed over, `onto`
   * merges the two in its place, so that any number of them take the room of one while the store refuses.
   */
  amend(key: string, transition: Value, onto: (newest: Value) => Value): void {
    const newest = this.#newest.get(key);
    if (newest === undefined || newest.isHandedOver) this.write(key, transition, false);
    else newest.transition = onto(newest.transition);
  }

  /** Resolves when the newest transition of `key` is committed, and hastens it; null when it is. */
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
  /** The key's next one; null: this is the newest. */
  next: SlotEntry<Value> | null = null;
  readonly #newest: Map<string, SlotEntry<Value>>;
  readonly #put: Put<Value>;
  readonly #settled: (value: Value) => void;
  readonly #key: string;

  constructor(
    newest: Map<string, SlotEntry<Value>>,
    put: Put<Value>,
    settled: (value: Value) => void,
    key: string,
    transition: Value,
    productId: ProductId | null,
  ) {
    this.#newest = newest;
    this.#put = put;
    this.#settled = settled;
    this.#key = key;
    this.transition = transition;
    this.productId = productId;
  }

  put(): void {
    // One batch is under way at a time: what is handed over is in it.
    this.#put(this.#key, this.transition, this.next?.isHandedOver !== true);
  }

  settle(): void {
    if (this.#newest.get(this.#key) !== this) return;
    this.#newest.delete(this.#key);
    this.#settled(this.transition);
  }
}
