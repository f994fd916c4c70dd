/**
 * A table's place in the journal: what of it is not committed yet, the newest of each key, where reads see it, and
 * how it is put when its turn comes.
 */
import type { EventDraft } from '../../model/events.ts';
import type { ProductId } from '../../model/ids.ts';
import type { CommitEntry, EntryChange } from './committer.ts';

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
  /** What the event's device is of; null: nothing, or there is no event. Never throws. */
  productOf(event: EventDraft | null): ProductId | null;
  /** `isAwaited`: somebody waits for it, so its commit starts at the end of this turn. */
  take(entry: JournalEntry, isAwaited: boolean): void;
  /** Resolves when this entry is committed, and hastens it. */
  committedOf(entry: JournalEntry): Promise<void>;
}

/** How a table takes its values; both never throw. */
export interface SlotTable<Value> {
  /** Writes one value, inside a batch. */
  put(key: string, value: Value): void;
  changeOf(key: string, value: Value): EntryChange;
}

export class JournalSlot<Value> {
  readonly #journal: EntryTaker;
  readonly #table: SlotTable<Value>;
  readonly #newest = new Map<string, SlotEntry<Value>>();

  constructor(journal: EntryTaker, table: SlotTable<Value>) {
    this.#journal = journal;
    this.#table = table;
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
    const entry = new SlotEntry(this.#newest, this.#table, key, value, event, productId);
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
  readonly #table: SlotTable<Value>;
  readonly #key: string;

  constructor(
    newest: Map<string, SlotEntry<Value>>,
    table: SlotTable<Value>,
    key: string,
    value: Value,
    event: EventDraft | null,
    productId: ProductId | null,
  ) {
    this.#newest = newest;
    this.#table = table;
    this.#key = key;
    this.value = value;
    this.event = event;
    this.productId = productId;
  }

  change(): EntryChange {
    return this.#table.changeOf(this.#key, this.value);
  }

  put(): void {
    this.#table.put(this.#key, this.value);
  }

  settle(): void {
    if (this.#newest.get(this.#key) === this) this.#newest.delete(this.#key);
  }
}
