/**
 * The ids, products and labels of all devices, in memory and in the order of their ids, so that a search answers for the whole
 * fleet without reading the store. A block of devices is read at a time, a little every few milliseconds from the first list of
 * devices on, and sooner where a search needs it; it is read again behind a change of one of its devices, all of them behind an import. Blocks
 * for which there is no room are read by each search.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { DeviceLister } from '../../core/ports/device-registry.ts';
import type { EventLog } from '../../core/ports/event-log.ts';
import type { ConnectionRecords } from '../../core/ports/records.ts';
import { deviceIndexBytesMax, deviceIndexRestMs } from '../../model/console-limits.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { Device } from '../../model/registry.ts';

export interface DeviceRows {
  readonly ids: readonly DeviceId[];
  readonly products: readonly string[];
  /** `\nkey=value\n…\n`; empty: none. */
  readonly labels: readonly string[];
  /** 1: a session of the device has been recorded here. */
  readonly connected: Uint8Array;
}

interface DeviceBlock {
  /** No device of this block is behind it, and none of the next block before it. */
  readonly lastId: string;
  /** Null: to be read. */
  readonly rows: DeviceRows | null;
  readonly bytes: number;
}

export interface DeviceIndexDeps {
  readonly clock: Clock;
  /** `changes`: grows when any number of devices may have changed without an event. */
  readonly registry: DeviceLister & { readonly changes: number };
  readonly events: Pick<EventLog, 'follow'>;
  readonly sleepRecords: Pick<ConnectionRecords, 'has'>;
  readonly signalRecords: Pick<ConnectionRecords, 'has'>;
}

const blockDevices = 256;
/** Objects and pointers of a device in a block; its characters are beyond it. */
const deviceBytes = 80;

export class DeviceIndex {
  readonly #deps: DeviceIndexDeps;
  #blocks: DeviceBlock[] = [unread(last)];
  #bytes = 0;
  /** The registry's count of changes when the first block was read. */
  #changes = 0;
  readonly #unfollow: Cancel;
  /** Null: nothing is left to be read. */
  #cancelReading: Cancel | null = null;

  constructor(deps: DeviceIndexDeps) {
    this.#deps = deps;
    this.#unfollow = deps.events.follow((committed) => this.#follow(committed));
  }

  stop(): void {
    this.#unfollow();
    this.#cancelReading?.();
  }

  /** The device was added, changed or removed. */
  forget(deviceId: DeviceId): void {
    const at = this.#place(deviceId);
    const { lastId, bytes } = this.#blocks[at] ?? unread(last);
    this.#bytes -= bytes;
    this.#blocks[at] = unread(lastId);
  }

  /**
   * The devices around an id, with every change of before the call: all those from `from` to `lastId`, or to the last of all where
   * that is empty. Takes about 1 ms where they have to be read; the others are read soon then. Throws when the store cannot be
   * read.
   */
  block(from: string): { readonly rows: DeviceRows; readonly lastId: string } {
    this.#forgetOld();
    const at = this.#place(from);
    const { rows, lastId } = this.#blocks[at] ?? unread(last);
    if (rows !== null) return { rows, lastId };
    this.#readLater();
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

  /** All of it, behind an import. */
  #forgetOld(): void {
    const { changes } = this.#deps.registry;
    if (this.#changes === changes) return;
    this.#changes = changes;
    this.#bytes = 0;
    this.#blocks = [unread(last)];
  }

  #readLater(): void {
    this.#cancelReading ??= this.#deps.clock.after(deviceIndexRestMs, () => this.#readOn());
  }

  #readOn(): void {
    this.#cancelReading = null;
    this.#forgetOld();
    const at = this.#blocks.findIndex(({ rows }) => rows === null);
    const block = this.#blocks[at];
    if (block === undefined) return;
    try {
      this.#read(at, block.lastId);
    } catch {
      // The store's health has it, and the next search.
      return;
    }
    const isFull = this.#blocks[at]?.rows === null;
    if (!isFull) this.#readLater();
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

  /** The place of the block that has the id, or would have it. */
  #place(id: string): number {
    return firstWhere(this.#blocks.length - 1, (at) => isWithin(id, this.#blocks[at]?.lastId ?? last));
  }
}

/** Behind every id. */
const last = '';

/** Not behind the bound, in the order of bytes. */
function isWithin(id: string, bound: string): boolean {
  return bound === last || compareIds(id, bound) <= 0;
}

/** The first of `count` places, in their order, from which on it holds; `count`: of none. */
function firstWhere(count: number, holds: (place: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** As the store orders them: by the bytes of UTF-8. */
export function compareIds(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at += 1) {
    const difference = rankOf(one.charCodeAt(at)) - rankOf(other.charCodeAt(at));
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

/** UTF-16 has the surrogates of the characters beyond U+FFFF before U+E000. */
function rankOf(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}

function unread(lastId: string): DeviceBlock {
  return { lastId, rows: null, bytes: 0 };
}

/** Equal texts of one block are kept once. */
function rowsOf(devices: readonly Device[], connected: readonly number[]): DeviceRows {
  const texts = new Map<string, string>();
  const kept = (text: string): string => {
    const known = texts.get(text);
    if (known === undefined) texts.set(text, text);
    return known ?? text;
  };
  return {
    ids: devices.map(({ deviceId }) => deviceId),
    products: devices.map(({ productId }) => kept(productId)),
    labels: devices.map(({ labels }) => kept(textOfLabels(labels))),
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
