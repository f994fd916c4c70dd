/**
 * An index of the ids, products and labels of all devices, in memory and sorted by id, so that a search covers the fleet without
 * reading the store. The index is read in blocks, one every few milliseconds from the first list of devices on, and earlier if a
 * search needs one. A change to a device invalidates its block, an import all blocks. Blocks beyond the memory limit are read
 * again by each search. Ids in here are byte texts.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { DeviceScanner, ScannedDevices, TextColumn } from '../../core/ports/device-registry.ts';
import type { EventLog } from '../../core/ports/event-log.ts';
import type { ConnectionRecords } from '../../core/ports/records.ts';
import { deviceIndexBytesMax, deviceIndexRestMs } from '../../model/console-limits.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { DeviceId } from '../../model/ids.ts';
import { firstWhere } from '../../lib/collections/binary-search.ts';
import { byteTextOf } from '../../lib/utf8.ts';
import { textAt } from './text-column.ts';

interface DeviceBlock {
  /** The block's devices are at or before this id, those of the next block after it. */
  readonly lastId: string;
  /** Null: not read yet. */
  readonly rows: DeviceRows | null;
  readonly bytes: number;
}

export interface DeviceIndexDeps {
  readonly clock: Clock;
  readonly registry: DeviceScanner;
  readonly events: Pick<EventLog, 'follow'>;
  readonly sleepRecords: Pick<ConnectionRecords, 'ids'>;
  readonly signalRecords: Pick<ConnectionRecords, 'ids'>;
}

/** Size of a device in a block without its text, bytes. */
const deviceBytes = 13;

export class DeviceIndex {
  readonly #deps: DeviceIndexDeps;
  #blocks: DeviceBlock[] = [unread(last)];
  #bytes = 0;
  /** The registry's change count when the first block was read. */
  #changes = 0;
  readonly #unfollow: Cancel;
  /** Null: all blocks have been read. */
  #cancelReading: Cancel | null = null;

  constructor(deps: DeviceIndexDeps) {
    this.#deps = deps;
    this.#unfollow = deps.events.follow((committed) => this.#follow(committed));
  }

  stop(): void {
    this.#unfollow();
    this.#cancelReading?.();
  }

  /** Invalidates the block of a device that was added, changed or removed. */
  forget(deviceId: DeviceId): void {
    const at = this.#place(byteTextOf(deviceId));
    const { lastId, bytes } = this.#blocks[at] ?? unread(last);
    this.#bytes -= bytes;
    this.#blocks[at] = unread(lastId);
  }

  /**
   * The devices around `from` up to `lastId`, or to the end if that is empty, including every change made before the call. Reading
   * a block takes about 2 ms, and schedules the others. Throws if the store cannot be read.
   */
  block(from: string): { readonly rows: DeviceRows; readonly lastId: string } {
    this.#forgetOld();
    const at = this.#place(from);
    const { rows, lastId } = this.#blocks[at] ?? unread(last);
    if (rows !== null) return { rows, lastId };
    this.#scheduleRead();
    return this.#read(at, lastId);
  }

  #read(at: number, bound: string): { readonly rows: DeviceRows; readonly lastId: string } {
    const { registry, sleepRecords, signalRecords } = this.#deps;
    const scanned = registry.scan(this.#blocks[at - 1]?.lastId ?? null, bound === last ? null : bound);
    const rows = new DeviceRows(scanned, [sleepRecords, signalRecords]);
    const lastId = scanned.isComplete ? bound : textAt(scanned.ids, rows.count - 1);
    const { bytes } = rows;
    const isKept = this.#bytes + bytes <= deviceIndexBytesMax;
    if (isKept) this.#bytes += bytes;
    const block = isKept ? { lastId, rows, bytes } : unread(lastId);
    this.#blocks.splice(at, 1, block, ...(lastId === bound ? [] : [unread(bound)]));
    return { rows, lastId };
  }

  #forgetOld(): void {
    const { changes } = this.#deps.registry;
    if (this.#changes === changes) return;
    this.#changes = changes;
    this.#bytes = 0;
    this.#blocks = [unread(last)];
  }

  #scheduleRead(): void {
    this.#cancelReading ??= this.#deps.clock.after(deviceIndexRestMs, () => this.#readNextBlock());
  }

  #readNextBlock(): void {
    this.#cancelReading = null;
    this.#forgetOld();
    const at = this.#blocks.findIndex(({ rows }) => rows === null);
    const block = this.#blocks[at];
    if (block === undefined) return;
    try {
      // Read ahead, too.
      void this.#read(at, block.lastId).rows.recorded;
    } catch {
      // The store's health reports the error, and so does the next search.
      return;
    }
    const isFull = this.#blocks[at]?.rows === null;
    if (!isFull) this.#scheduleRead();
  }

  #follow(committed: readonly LoggedEvent[]): void {
    for (const { type, deviceId, epoch } of committed) {
      if (epoch === 1) this.#recordLogin(deviceId);
      else if (epoch === null && type.startsWith('device.registry.')) this.forget(deviceId);
    }
  }

  #recordLogin(deviceId: DeviceId): void {
    const id = byteTextOf(deviceId);
    this.#blocks[this.#place(id)]?.rows?.recordLogin(id);
  }

  /** The index of the block that contains the id, or would contain it. */
  #place(id: string): number {
    return firstWhere(this.#blocks.length - 1, (at) => isWithin(id, this.#blocks[at]?.lastId ?? last));
  }
}

/** Sorts after every id. */
const last = '';

/** An empty bound admits every id. */
function isWithin(id: string, bound: string): boolean {
  return bound === last || id <= bound;
}

type Records = Pick<ConnectionRecords, 'ids'>;

export class DeviceRows {
  readonly ids: TextColumn;
  readonly lowerIds: TextColumn;
  readonly terms: TextColumn;
  readonly count: number;
  readonly #records: readonly Records[];
  #recorded: Uint8Array | null = null;

  constructor({ ids, lowerIds, terms }: ScannedDevices, records: readonly Records[]) {
    this.ids = ids;
    this.lowerIds = lowerIds;
    this.terms = terms;
    this.count = ids.ends.length;
    this.#records = records;
  }

  get bytes(): number {
    const { ids, lowerIds, terms } = this;
    return this.count * deviceBytes + ids.bytes.length + lowerIds.bytes.length + terms.bytes.length;
  }

  /** The first row at or behind the id. */
  placeOf(id: string): number {
    return firstWhere(this.count, (row) => textAt(this.ids, row) >= id);
  }

  /** 1: a session of the device has been recorded here. Its first use reads the records. Throws if the store cannot be read. */
  get recorded(): Uint8Array {
    if (this.#recorded !== null) return this.#recorded;
    const recorded = new Uint8Array(this.count);
    if (this.count > 0) for (const records of this.#records) this.#mark(recorded, records);
    return (this.#recorded = recorded);
  }

  recordLogin(id: string): void {
    const row = this.placeOf(id);
    if (this.#recorded !== null && row < this.count && textAt(this.ids, row) === id) this.#recorded[row] = 1;
  }

  #mark(recorded: Uint8Array, records: Records): void {
    let row = 0;
    let known = textAt(this.ids, row);
    for (const id of records.ids(known, textAt(this.ids, this.count - 1))) {
      while (known < id) known = textAt(this.ids, (row += 1));
      if (known === id) recorded[row] = 1;
    }
  }
}

function unread(lastId: string): DeviceBlock {
  return { lastId, rows: null, bytes: 0 };
}
