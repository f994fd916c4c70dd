/**
 * An index of the ids, products and labels of all devices, in memory and sorted by id, so that a search covers the fleet without
 * reading the store. The index is read in blocks, one every few milliseconds from the first list of devices on, and earlier if a
 * search needs one. A change to a device invalidates its block, an import all blocks. Blocks beyond the memory limit are read
 * again by each search.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { DeviceLister } from '../../core/ports/device-registry.ts';
import type { EventLog } from '../../core/ports/event-log.ts';
import type { ConnectionRecords } from '../../core/ports/records.ts';
import { deviceIndexBytesMax, deviceIndexRestMs } from '../../model/console-limits.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { Device } from '../../model/registry.ts';

export type DeviceRows = Readonly<ReturnType<typeof rowsOf>>;

interface DeviceBlock {
  /** The block's devices are at or before this id, those of the next block after it. */
  readonly lastId: string;
  /** Null: not read yet. */
  readonly rows: DeviceRows | null;
  readonly bytes: number;
}

export interface DeviceIndexDeps {
  readonly clock: Clock;
  /** `changes`: grows when devices may have changed without an event. */
  readonly registry: DeviceLister & { readonly changes: number };
  readonly events: Pick<EventLog, 'follow'>;
  readonly sleepRecords: Pick<ConnectionRecords, 'has'>;
  readonly signalRecords: Pick<ConnectionRecords, 'has'>;
}

const blockDevices = 256;
/** Size of a device's objects and pointers in a block, without its text, bytes. */
const deviceBytes = 80;

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
    const at = this.#place(deviceId);
    const { lastId, bytes } = this.#blocks[at] ?? unread(last);
    this.#bytes -= bytes;
    this.#blocks[at] = unread(lastId);
  }

  /**
   * The devices from `from` to `lastId`, or to the end if that is empty, including every change made before the call. Reading a
   * block takes about 1 ms, and schedules the others. Throws if the store cannot be read.
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
    const behind = registry.devicesBehind(this.#blocks[at - 1]?.lastId ?? null, '', blockDevices);
    const devices = behind.filter(({ deviceId }) => isWithin(deviceId, bound));
    const lastId = devices.length < blockDevices ? bound : (devices.at(-1)?.deviceId ?? bound);
    const connected = devices.map(({ deviceId }) =>
      Number(sleepRecords.has(deviceId) || signalRecords.has(deviceId)),
    );
    const rows = rowsOf(devices, connected);
    const bytes = bytesOf(rows);
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
      this.#read(at, block.lastId);
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
    const rows = this.#blocks[this.#place(deviceId)]?.rows ?? null;
    if (rows === null) return;
    const at = firstWhere(rows.ids.length, (row) => isWithin(deviceId, rows.ids[row] ?? last));
    if (rows.ids[at] === deviceId) rows.connected[at] = 1;
  }

  /** The index of the block that contains the id, or would contain it. */
  #place(id: string): number {
    return firstWhere(this.#blocks.length - 1, (at) => isWithin(id, this.#blocks[at]?.lastId ?? last));
  }
}

/** Sorts after every id. */
const last = '';

/** Compares by bytes; an empty bound admits every id. */
function isWithin(id: string, bound: string): boolean {
  return bound === last || compareIds(id, bound) <= 0;
}

/** Binary search: the first of `count` places for which `holds`; `count`: none. */
function firstWhere(count: number, holds: (place: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The store's order: by the bytes of UTF-8. */
export function compareIds(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at += 1) {
    const difference = rankOf(one.charCodeAt(at)) - rankOf(other.charCodeAt(at));
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

/** In UTF-16, surrogates (characters beyond U+FFFF) sort before U+E000. */
function rankOf(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}

function unread(lastId: string): DeviceBlock {
  return { lastId, rows: null, bytes: 0 };
}

/** Stores equal texts of a block once. */
function rowsOf(devices: readonly Device[], connected: readonly number[]) {
  const texts = new Map<string, string>();
  const kept = (text: string): string => {
    const known = texts.get(text);
    if (known === undefined) texts.set(text, text);
    return known ?? text;
  };
  return {
    ids: devices.map(({ deviceId }) => deviceId),
    products: devices.map(({ productId }) => kept(productId)),
    // `\nkey=value\n…\n`; empty: none.
    labels: devices.map(({ labels }) => kept(textOfLabels(labels))),
    // 1: a session of the device has been recorded here.
    connected: Uint8Array.from(connected),
  };
}

function bytesOf({ ids, labels }: DeviceRows): number {
  const characters = [...ids, ...labels].reduce((sum, { length }) => sum + length, 0);
  return ids.length * deviceBytes + characters;
}

export function textOfLabels(labels: Device['labels']): string {
  if (labels === undefined) return '';
  return ['', ...Object.entries(labels).map((label) => label.join('=')), ''].join('\n');
}
