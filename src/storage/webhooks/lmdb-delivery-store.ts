/** The webhooks' delivery store in LMDB. One thread writes it; others may look on. */
import type { EventId } from '../../model/ids.ts';
import type {
  FailedEvent,
  HookChanges,
  HookRecord,
  ParkedEvent,
  DeliveryStore,
} from '../../core/ports/delivery-store.ts';
import type { Table } from '../lmdb/environment.ts';
import {
  decodeFailed,
  decodeHook,
  decodeParked,
  encodeFailed,
  encodeHook,
  encodeParked,
  keptKey,
  keptSequence,
  numberOf,
  type WebhookTables,
} from './webhook-tables.ts';

/** Rows read or removed between two turns of the loop. */
const rowsSlice = 500;

export class LmdbDeliveryStore implements DeliveryStore {
  readonly #tables: WebhookTables;

  constructor(tables: WebhookTables) {
    this.#tables = tables;
  }

  hooks(): ReadonlyMap<string, HookRecord> {
    const hooks = new Map<string, HookRecord>();
    for (const { key, value } of this.#tables.hooks.getRange()) hooks.set(key.toString(), decodeHook(value));
    return hooks;
  }

  freeNumber(): number {
    const { failed, parked } = this.#tables;
    const numbers = Array.from(this.hooks().values(), ({ number }) => number);
    for (const table of [failed, parked] as Table<unknown>[])
      for (const key of table.getKeys({ reverse: true, limit: 1 })) numbers.push(numberOf(key));
    return 1 + Math.max(0, ...numbers);
  }

  *failed(number: number): Generator<FailedEvent, void, undefined> {
    for (const { key, value } of this.#tables.failed.getRange(rangeOf(number)))
      yield decodeFailed(keptSequence(key), value);
  }

  /** Without a look at the events. */
  countFailed(number: number): number {
    return this.#tables.failed.getKeysCount(rangeOf(number));
  }

  findFailed(number: number, sequence: number): FailedEvent | null {
    const row = this.#tables.failed.get(keptKey(number, sequence));
    return row === undefined ? null : decodeFailed(sequence, row);
  }

  parked(number: number, after: number, limit: number): ParkedEvent[] {
    const range = this.#tables.parked.getRange({ ...rangeOf(number, after + 1), limit });
    return Array.from(range, ({ key, value }) => decodeParked(keptSequence(key), value));
  }

  async findParked(number: number, eventId: EventId): Promise<ParkedEvent | null> {
    let after = 0;
    for (;;) {
      const page = this.parked(number, after, rowsSlice);
      const found = page.find(({ event }) => event.id === eventId);
      if (found !== undefined) return found;
      const last = page.at(-1);
      if (last === undefined) return null;
      after = last.event.sequence;
      await nextTurn();
    }
  }

  /** What is trimmed is what was there before; there is no other writer, and no other commit of this one. */
  async commit(changes: readonly HookChanges[]): Promise<void> {
    if (changes.length === 0) return;
    const trimmed = changes.map(({ number, parkedTrimmed }) => this.#oldestParked(number, parkedTrimmed));
    await this.#tables.environment.batch(() => {
      for (const [at, change] of changes.entries()) this.#write(change, trimmed[at] ?? []);
    });
  }

  async sweep(): Promise<void> {
    const { failed, parked } = this.#tables;
    const living = new Set(Array.from(this.hooks().values(), ({ number }) => number));
    for (const table of [failed, parked] as Table<unknown>[]) {
      let next = nextNumber(table, 0);
      while (next !== null) {
        if (!living.has(next)) await this.#clear(table, next);
        next = nextNumber(table, next + 1);
      }
    }
  }

  #oldestParked(number: number, count: number): Buffer[] {
    if (count === 0) return [];
    return Array.from(this.#tables.parked.getKeys({ ...rangeOf(number), limit: count }));
  }

  #write({ id, record, number, failed, parked }: HookChanges, trimmed: readonly Buffer[]): void {
    const { hooks, failed: failedTable, parked: parkedTable } = this.#tables;
    const key = Buffer.from(id);
    if (record === null) return void hooks.remove(key);
    for (const oldest of trimmed) void parkedTable.remove(oldest);
    void hooks.put(key, encodeHook(record));
    for (const [sequence, entry] of failed)
      if (entry === null) void failedTable.remove(keptKey(number, sequence));
      else void failedTable.put(keptKey(number, sequence), encodeFailed(entry));
    for (const [sequence, entry] of parked)
      if (entry === null) void parkedTable.remove(keptKey(number, sequence));
      else void parkedTable.put(keptKey(number, sequence), encodeParked(entry));
  }

  /** A slice a commit: the loop has deliveries to make in between. */
  async #clear(table: Table<unknown>, number: number): Promise<void> {
    for (;;) {
      const keys = Array.from(table.getKeys({ ...rangeOf(number), limit: rowsSlice }));
      if (keys.length === 0) return;
      await this.#tables.environment.batch(() => {
        for (const key of keys) void table.remove(key);
      });
    }
  }
}

function rangeOf(number: number, from = 0): { readonly start: Buffer; readonly end: Buffer } {
  return { start: keptKey(number, from), end: keptKey(number + 1, 0) };
}

/** The lowest number from `from` on that has something in the table. */
function nextNumber(table: Table<unknown>, from: number): number | null {
  for (const key of table.getKeys({ start: keptKey(from, 0), limit: 1 })) return numberOf(key);
  return null;
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
