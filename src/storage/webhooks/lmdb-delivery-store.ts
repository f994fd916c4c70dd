/** Delivery store of the webhooks in LMDB: cursors, failed and parked events. Owned by one thread. Source: events.md, Webhooks. */
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

/** Add fields at the end only. */
type HookRow = readonly [
  number: number,
  cursor: number,
  parked: number,
  switchedOff: readonly [atMs: number, secretSha256: string] | null,
  lastSuccessAtMs: number | null,
  lastFailure: FailureRow | null,
];

/** The event is copied from the log. Add fields at the end only. */
type FailedRow = readonly [attempts: number, dueAtMs: number, event: EventRow];
type ParkedRow = readonly [failure: FailureRow, event: EventRow];

const numberBytes = 4;

/** Orders keys by hook, then by sequence in the log. */
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
  /** Keyed by the hook's id. */
  readonly hooks: Table<HookRow>;
  /** Keyed by the hook's number and the event's sequence. */
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

/** Maximum rows read or removed per turn of the loop. */
const rowsSlice = 500;

export class LmdbDeliveryStore implements DeliveryStore {
  readonly #tables: WebhookTables;
  readonly #keepElsewhere: KeepChanges | null;

  /**
   * `keepElsewhere`: replicates every change for other nodes. If it rejects, nothing is committed here, and the same changes are
   * retried. It receives trimmed parked events by sequence, not as a count. Null: single server.
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

  /** Trims events parked before this commit; there is no other writer, and only one commit at a time. */
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

  /** Removes in slices, so that deliveries continue in between. */
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

/** The lowest number at or above `from` with rows in the table; null: none. */
function nextNumber(table: Table<unknown>, from: number): number | null {
  for (const key of table.getKeys({ start: keptKey(from, 0), limit: 1 })) return numberOf(key);
  return null;
}

/**
 * Replaces the store's content by what `load` commits, then closes the tables. Resolves to the highest cursor of all hooks; 0: none.
 */
export async function seedDeliveryStore(
  tables: WebhookTables,
  load: (commit: KeepChanges) => Promise<void>,
): Promise<number> {
  try {
    const deliveries = new LmdbDeliveryStore(tables);
    await deliveries.commit(Array.from(deliveries.hooks(), ([id, { number }]) => removalOf(id, number)));
    await deliveries.sweep();
    await load((changes) => deliveries.commit(changes));
    return Math.max(0, ...Array.from(deliveries.hooks().values(), ({ cursor }) => cursor));
  } finally {
    await tables.environment.close();
  }
}

/** Replaces the count of trimmed events by the events themselves. */
function named(change: HookChanges, trimmed: readonly Buffer[]): HookChanges {
  if (change.parkedTrimmed === 0) return change;
  const gone = trimmed.map((key) => [keptSequence(key), null] as const);
  return { ...change, parked: new Map([...gone, ...change.parked]), parkedTrimmed: 0 };
}

function removalOf(id: string, number: number): HookChanges {
  return { id, number, record: null, failed: new Map(), parked: new Map(), parkedTrimmed: 0 };
}
