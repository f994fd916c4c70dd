/**
 * The webhooks' delivery store in LMDB: a hook's cursor and its failed and parked events. One thread has it. Source: events.md, Webhooks.
 */
import { join } from 'node:path';
import { nextTurn } from '../../lib/clock.ts';
import type { EventId } from '../../model/ids.ts';
import type {
  FailedEvent,
  HookChanges,
  HookRecord,
  ParkedEvent,
  DeliveryStore,
  DeliveryFailure,
} from '../../core/ports/delivery-store.ts';
import { type Table, Environment } from '../lmdb/environment.ts';
import { decodeEvent, encodeEvent, eventKey, sequenceOf, type EventRow } from '../events/event-rows.ts';
import { storeFileNames } from '../lmdb/store-format.ts';

type FailureRow = readonly [atMs: number, status: number | null, reason: string];

/** Add at the end only. */
type HookRow = readonly [
  number: number,
  cursor: number,
  parked: number,
  switchedOff: readonly [atMs: number, secretSha256: string] | null,
  lastSuccessAtMs: number | null,
  lastFailure: FailureRow | null,
];

/** The event is a copy of the log's. Add at the end only. */
type FailedRow = readonly [attempts: number, dueAtMs: number, event: EventRow];
type ParkedRow = readonly [failure: FailureRow, event: EventRow];

/** Of the hook's number, in a key. */
const numberBytes = 4;

/** Hook by hook, and each hook's in the order of the log. */
function keptKey(number: number, sequence: number): Buffer {
  const key = Buffer.allocUnsafe(numberBytes);
  key.writeUInt32BE(number, 0);
  return Buffer.concat([key, eventKey(sequence)]);
}

function numberOf(key: Buffer): number {
  return key.readUInt32BE(0);
}

function keptSequence(key: Buffer): number {
  return sequenceOf(key.subarray(numberBytes));
}

function encodeHook(record: HookRecord): HookRow {
  const { number, cursor, parked, switchedOff, lastSuccessAtMs, lastFailure } = record;
  const off = switchedOff && ([switchedOff.atMs, switchedOff.secretSha256] as const);
  return [number, cursor, parked, off, lastSuccessAtMs, lastFailure && encodeFailure(lastFailure)];
}

function decodeHook([number, cursor, parked, off, lastSuccessAtMs, lastFailure]: HookRow): HookRecord {
  const switchedOff = off && { atMs: off[0], secretSha256: off[1] };
  return {
    number,
    cursor,
    parked,
    switchedOff,
    lastSuccessAtMs,
    lastFailure: lastFailure && decodeFailure(lastFailure),
  };
}

function encodeFailed({ attempts, dueAtMs, event }: FailedEvent): FailedRow {
  return [attempts, dueAtMs, encodeEvent(event)];
}

function decodeFailed(sequence: number, [attempts, dueAtMs, event]: FailedRow): FailedEvent {
  return { attempts, dueAtMs, event: decodeEvent(sequence, event) };
}

function encodeParked({ failure, event }: ParkedEvent): ParkedRow {
  return [encodeFailure(failure), encodeEvent(event)];
}

function decodeParked(sequence: number, [failure, event]: ParkedRow): ParkedEvent {
  return { failure: decodeFailure(failure), event: decodeEvent(sequence, event) };
}

function encodeFailure({ atMs, status, reason }: DeliveryFailure): FailureRow {
  return [atMs, status, reason];
}

function decodeFailure([atMs, status, reason]: FailureRow): DeliveryFailure {
  return { atMs, status, reason };
}

export class WebhookTables {
  readonly environment: Environment;
  /** By the hook's id. */
  readonly hooks: Table<HookRow>;
  /** By the hook's number and the event's sequence. */
  readonly failed: Table<FailedRow>;
  readonly parked: Table<ParkedRow>;

  constructor(directory: string, environment = new Environment(join(directory, storeFileNames.webhooks))) {
    this.environment = environment;
    this.hooks = this.environment.table('hooks');
    this.failed = this.environment.table('failed');
    this.parked = this.environment.table('parked');
  }
}

export type KeepChanges = (changes: readonly HookChanges[]) => Promise<void>;

/** Rows read or removed between two turns of the loop. */
const rowsSlice = 500;

export class LmdbDeliveryStore implements DeliveryStore {
  readonly #tables: WebhookTables;
  readonly #keepElsewhere: KeepChanges | null;

  /**
   * `keepElsewhere`: keeps every change where another node finds it; if it rejects, nothing is committed here, and the same
   * changes are handed over again. Of the parked that are trimmed it is given each, and no count. Null: this node is alone.
   */
  constructor(tables: WebhookTables, keepElsewhere: KeepChanges | null = null) {
    this.#tables = tables;
    this.#keepElsewhere = keepElsewhere;
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
    await this.#keepElsewhere?.(changes.map((change, at) => named(change, trimmed[at] ?? [])));
    await this.#tables.environment.transaction(() => {
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
      await this.#tables.environment.transaction(() => {
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

/** `load` hands over what there is. Resolves to the newest cursor of all hooks, 0: there is none, and the tables are closed. */
export async function seedDeliveryStore(
  tables: WebhookTables,
  load: (take: KeepChanges) => Promise<void>,
): Promise<number> {
  try {
    const deliveries = new LmdbDeliveryStore(tables);
    await deliveries.commit(Array.from(deliveries.hooks(), ([id, { number }]) => gone(id, number)));
    await deliveries.sweep();
    await load((changes) => deliveries.commit(changes));
    return Math.max(0, ...Array.from(deliveries.hooks().values(), ({ cursor }) => cursor));
  } finally {
    await tables.environment.close();
  }
}

/** With the parked events that go in the place of their number. */
function named(change: HookChanges, trimmed: readonly Buffer[]): HookChanges {
  if (change.parkedTrimmed === 0) return change;
  const gone = trimmed.map((key) => [keptSequence(key), null] as const);
  return { ...change, parked: new Map([...gone, ...change.parked]), parkedTrimmed: 0 };
}

function gone(id: string, number: number): HookChanges {
  return { id, number, record: null, failed: new Map(), parked: new Map(), parkedTrimmed: 0 };
}
