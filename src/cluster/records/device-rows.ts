/**
 * The shared rows of devices: read, and changed by compare-and-set until a change holds. Which change it is its caller
 * says, as a function of the row as it is found. Source: cluster.md, Ownership.
 */
import { type Clock, pause } from '../../lib/clock.ts';
import { decodeDeviceRow, encodeDeviceRow } from '../../protocol/cluster/stored-values.ts';
import { neverShared, type SharedOutcome, type SharedStep } from '../../model/state/shared-connection.ts';
import type { ConnectionKind, DeviceRow, SharedConnection } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { KvEntry, KvStore } from '../nats/kv-store.ts';
import { deviceHash } from '../nats/nats-names.ts';
import { rowJitterMsMax, rowTriesMax } from './row-limits.ts';

/** Not what members write, or of another device: trying again would find the same. */
export class RowUnreadable extends Error {
  constructor(deviceId: DeviceId, reason: string) {
    super(`the shared row of ${deviceId} cannot be read: ${reason}`);
    this.name = 'RowUnreadable';
  }
}

/** Called again with the newer row when another was faster; what it does beside counts for its last call only. */
export type RowStep = (row: SharedConnection) => SharedStep;

export interface ChangedRow {
  readonly row: SharedConnection;
  readonly outcome: SharedOutcome;
}

const neverThere: DeviceRow = { sleep: neverShared, signal: neverShared };

export class DeviceRows {
  readonly #kv: Pick<KvStore, 'find' | 'compareAndSet'>;
  readonly #clock: Clock;
  readonly #random: () => number;

  /** `random` draws from 0 to 1. */
  constructor(kv: Pick<KvStore, 'find' | 'compareAndSet'>, clock: Clock, random: () => number) {
    this.#kv = kv;
    this.#clock = clock;
    this.#random = random;
  }

  /** Rejects while NATS is away, and with RowUnreadable. */
  async find(deviceId: DeviceId): Promise<DeviceRow> {
    return read(deviceId, await this.#kv.find(deviceHash(deviceId)));
  }

  /** Rejects while NATS is away (the change may hold then), with RowUnreadable, and when others are faster every time. */
  async change(deviceId: DeviceId, connection: ConnectionKind, step: RowStep): Promise<ChangedRow> {
    const key = deviceHash(deviceId);
    for (let tries = 0; tries < rowTriesMax; tries++) {
      if (tries > 1) await pause(this.#clock, this.#random() * rowJitterMsMax);
      const kept = await this.#kv.find(key);
      const before = read(deviceId, kept);
      const { row, outcome } = step(before[connection]);
      if (row === before[connection]) return { row, outcome };
      const value = encodeDeviceRow(deviceId, { ...before, [connection]: row });
      if ((await this.#kv.compareAndSet(key, value, kept?.revision ?? null)) !== null)
        return { row, outcome };
    }
    throw new Error(`the shared row of ${deviceId} was written by others ${rowTriesMax} times in a row`);
  }
}

function read(deviceId: DeviceId, kept: KvEntry | null): DeviceRow {
  // No bytes: somebody has deleted it by hand.
  if (kept === null || kept.value.length === 0) return neverThere;
  const decoded = decodeDeviceRow(kept.value);
  if (!decoded.ok) throw new RowUnreadable(deviceId, decoded.error);
  if (decoded.value.deviceId !== deviceId) throw new RowUnreadable(deviceId, 'it is of another device');
  return decoded.value.row;
}
