/**
 * The ids, products and labels of all devices, in memory and in the order of their ids, so that a search answers for the whole
 * fleet without reading the store: about 100 MB for a million devices. It is read from the registry when a search needs it, a
 * block of devices at a time, and forgotten when nobody has searched for a while. A block is read again behind a change of one of
 * its devices, all of them behind an import.
 */
import { nextTurn, type Cancel, type Clock } from '../../lib/clock.ts';
import type { DeviceLister } from '../../core/ports/device-registry.ts';
import type { EventLog } from '../../core/ports/event-log.ts';
import { deviceIndexKeptMs, deviceSearchTurnMs, movedDevicesMax } from '../../model/console-limits.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { Device } from '../../model/registry.ts';

/** 0: not known; 1: the device was connected before; 2: it never was, unless it logs in; 3: it is, unless it goes offline. */
type Connected = 0 | 1 | 2 | 3;

export interface DeviceBlock {
  /** No device of this block is behind it, and none of the next block before it. */
  lastId: string;
  readonly ids: readonly DeviceId[];
  readonly products: readonly string[];
  /** `\nkey=value\n…\n`; empty: none. */
  readonly labels: readonly string[];
  readonly connected: Uint8Array;
  isStale: boolean;
}

export interface DeviceIndexDeps {
  readonly clock: Clock;
  /** `changes`: grows when any number of devices may have changed without an event. */
  readonly registry: DeviceLister & { readonly changes: number };
  readonly events: Pick<EventLog, 'follow'>;
}

const blockDevices = 256;
/** Beyond it all blocks are read again. */
const changedKnownMax = 10_000;

export class DeviceIndex {
  readonly #deps: DeviceIndexDeps;
  #blocks: DeviceBlock[] = [];
  /** The registry's count of changes when it was read; null: nothing is kept. */
  #changes: number | null = null;
  /** Devices that have logged in or gone offline since the states of some were read. */
  readonly #moved = new Set<DeviceId>();
  /** Devices whose entries have changed since their blocks were read. */
  readonly #changed = new Set<DeviceId>();
  #unfollow: Cancel = () => undefined;
  #cancelForget: Cancel = () => undefined;

  constructor(deps: DeviceIndexDeps) {
    this.#deps = deps;
  }

  /** Resolves to blocks that have every change of before the call; takes a few milliseconds of each turn of the loop. */
  async read(pace: TurnPace): Promise<readonly DeviceBlock[]> {
    const { clock, registry, events } = this.#deps;
    this.#cancelForget();
    this.#cancelForget = clock.after(deviceIndexKeptMs, () => this.#forget());
    if (this.#changes === null) this.#unfollow = events.follow((committed) => this.#follow(committed));
    if (this.#changes !== registry.changes) {
      this.#changes = registry.changes;
      this.#blocks = [emptyBlock()];
    }
    this.#applyChanges();
    for (let at = 0; at < this.#blocks.length; at += 1)
      if (this.#blocks[at]?.isStale === true) at += (await this.#readBlock(at, pace)) - 1;
    return this.#blocks;
  }

  /** The connections of a device, as far as they are known. */
  connected(block: DeviceBlock, at: number): Connected {
    const known = block.connected[at] as Connected;
    const id = block.ids[at];
    return known >= 2 && id !== undefined && this.#moved.has(id) ? 0 : known;
  }

  /** Returns the number of blocks in place of the one. */
  async #readBlock(at: number, pace: TurnPace): Promise<number> {
    const bound = this.#blocks[at]?.lastId ?? last;
    const fresh: DeviceBlock[] = [];
    let after = this.#blocks[at - 1]?.lastId ?? null;
    for (let isOver = false; !isOver;) {
      await pace.turn();
      const slice = this.#deps.registry.devicesBehind(after, '', blockDevices);
      const own = slice.filter(({ deviceId }) => isBefore(deviceId, bound));
      isOver = own.length < blockDevices;
      after = own.at(-1)?.deviceId ?? after;
      fresh.push(blockOf(own, isOver ? bound : (after ?? bound)));
    }
    this.#blocks.splice(at, 1, ...fresh);
    return fresh.length;
  }

  #follow(committed: readonly LoggedEvent[]): void {
    for (const { type, deviceId } of committed) {
      if (type.startsWith('device.registry.')) this.#changed.add(deviceId);
      else if (type.startsWith('device.s')) this.#noteMove(deviceId);
    }
    if (this.#changed.size > changedKnownMax) this.#forget();
  }

  #applyChanges(): void {
    for (const deviceId of this.#changed) {
      const block = this.#blocks[firstBlock(this.#blocks, deviceId)];
      if (block !== undefined) block.isStale = true;
    }
    this.#changed.clear();
  }

  #noteMove(deviceId: DeviceId): void {
    this.#moved.add(deviceId);
    if (this.#moved.size <= movedDevicesMax) return;
    this.#moved.clear();
    for (const { connected } of this.#blocks)
      for (const [at, known] of connected.entries()) if (known >= 2) connected[at] = 0;
  }

  #forget(): void {
    this.#unfollow();
    this.#changes = null;
    this.#blocks = [];
    this.#moved.clear();
    this.#changed.clear();
  }
}

/** The first block that may have the id. */
export function firstBlock(blocks: readonly DeviceBlock[], id: string): number {
  let [low, high] = [0, blocks.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(id, blocks[middle]?.lastId ?? last)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Behind every id. */
const last = '';

/** Not behind the bound, in the order of bytes. */
function isBefore(id: string, bound: string): boolean {
  return bound === last || compareIds(id, bound) <= 0;
}

/** As the store orders them. */
export function compareIds(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

function emptyBlock(): DeviceBlock {
  return { ...blockOf([], last), isStale: true };
}

function blockOf(devices: readonly Device[], lastId: string): DeviceBlock {
  return {
    lastId,
    ids: devices.map(({ deviceId }) => deviceId),
    products: devices.map(({ productId }) => productId),
    labels: devices.map(({ labels }) => textOfLabels(labels)),
    connected: new Uint8Array(devices.length),
    isStale: false,
  };
}

export function textOfLabels(labels: Device['labels']): string {
  if (labels === undefined) return '';
  return `\n${Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join('\n')}\n`;
}

/** Gives the loop a turn as soon as one has taken its share. */
export class TurnPace {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #begunMs: number;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
    this.#begunMs = clock.monotonicMs();
  }

  get isOver(): boolean {
    return this.#clock.monotonicMs() - this.#begunMs >= deviceSearchTurnMs;
  }

  async turn(): Promise<void> {
    if (!this.isOver) return;
    await nextTurn();
    this.#begunMs = this.#clock.monotonicMs();
  }
}
