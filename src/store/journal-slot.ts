/**
 * A table's place in the journal: what of it is not committed yet, the newest of each key, where reads see it, and
 * how it is put when its turn comes.
 */
import type { EventDraft } from '../domain/events.ts';
import type { ProductId } from '../domain/ids.ts';

/** What the journal holds of one write, until it is committed. */
export interface JournalEntry {
  readonly event: EventDraft | null;
  /** What the event's device was of when it happened; null: nothing, or there is no event. */
  readonly productId: ProductId | null;
  /** Made when somebody waits for it. */
  waiter: Waiter | null;
  /** It is in a batch, and what it says is fixed. */
  isHandedOver: boolean;
  /** Inside a batch. Never throws. */
  put(): void;
  /** Once it is committed. */
  settle(): void;
}

export interface Waiter {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

/** The journal, as its slots see it. */
export interface EntryTaker {
  /** What the event's device is of; null: nothing, or there is no event. Never throws. */
  productOf(event: EventDraft | null): ProductId | null;
  /** `isAwaited`: somebody waits for it, so its commit starts at the end of this turn. */
  take(entry: JournalEntry, isAwaited: boolean): void;
  /** Resolves when this entry is committed, and hastens it. */
  committedOf(entry: JournalEntry): Promise<void>;
}

export class JournalSlot<Value> {
  readonly #journal: EntryTaker;
  readonly #put: (key: string, value: Value) => void;
  readonly #newest = new Map<string, SlotEntry<Value>>();

  /** `put`: writes one value, inside a batch; never throws. */
  constructor(journal: EntryTaker, put: (key: string, value: Value) => void) {
    this.#journal = journal;
    this.#put = put;
  }

  /** The newest value that is not committed; undefined: ask the table. */
  get(key: string): Value | undefined {
    return this.#newest.get(key)?.value;
  }

  /** Keys whose newest value is not committed, and the values. */
  *entries(): Generator<[string, Value], void, undefined> {
    for (const [key, { value }] of this.#newest) yield [key, value];
  }

  /** Behind everything written so far. `event` is committed with it, or neither is. */
  write(key: string, value: Value, event: EventDraft | null, isAwaited: boolean): void {
    const productId = this.#journal.productOf(event);
    const entry = new SlotEntry(this.#newest, this.#put, key, value, event, productId);
    this.#newest.set(key, entry);
    this.#journal.take(entry, isAwaited);
  }

  /**
   * A value that tells of no event and that nobody waits for. It takes the place of the key's newest one if that
   * waits to be handed over, so that any number of them take the room of one while the store refuses.
   */
  amend(key: string, value: Value): void {
    const newest = this.#newest.get(key);
    if (newest === undefined || newest.isHandedOver) this.write(key, value, null, false);
    else newest.value = value;
  }

  /** Resolves when the newest value of `key` is committed, and hastens it; null when it is. */
  committed(key: string): Promise<void> | null {
    const entry = this.#newest.get(key);
    return entry === undefined ? null : this.#journal.committedOf(entry);
  }
}

class SlotEntry<Value> implements JournalEntry {
  readonly event: EventDraft | null;
  readonly productId: ProductId | null;
  value: Value;
  waiter: Waiter | null = null;
  isHandedOver = false;
  readonly #newest: Map<string, SlotEntry<Value>>;
  readonly #put: (key: string, value: Value) => void;
  readonly #key: string;

  constructor(
    newest: Map<string, SlotEntry<Value>>,
    put: (key: string, value: Value) => void,
    key: string,
    value: Value,
    event: EventDraft | null,
    productId: ProductId | null,
  ) {
    this.#newest = newest;
    this.#put = put;
    this.#key = key;
    this.value = value;
    this.event = event;
    this.productId = productId;
  }

  put(): void {
    this.#put(this.#key, this.value);
  }

  settle(): void {
    if (this.#newest.get(this.#key) === this) this.#newest.delete(this.#key);
  }
}
