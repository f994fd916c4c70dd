/**
 * The registry's devices as the provisioning API changes and lists them. A change is decided inside its transaction, on the current
 * entries, so that concurrent changes of a device cannot overwrite each other.
 */
import type { ApplicationId, DeviceId, ProductId } from '../../model/ids.ts';
import type { Device, Product } from '../../model/registry.ts';
import type { DeviceChange } from '../../model/state/registry-event.ts';

export interface DeviceReads {
  findDevice(deviceId: DeviceId): Device | null;
  findProduct(productId: ProductId): Product | null;
  /** Number of devices in all products of the application. */
  countDevices(appId: ApplicationId): number;
}

export interface DecidedChanges<Result> {
  readonly result: Result;
  /** Written in this order; empty: nothing is written. */
  readonly changes: readonly DeviceChange[];
}

export interface DeviceRegistry {
  /**
   * Writes the changes that `decide` returns, with their events: all or nothing. `decide` may be called again in another
   * transaction. Resolves once committed; rejects when the store refuses, and then nothing has changed.
   */
  changeDevices<Result>(
    by: ApplicationId,
    decide: (reads: DeviceReads) => DecidedChanges<Result>,
  ): Promise<Result>;
}

export interface DeviceLister {
  /** Devices after `after` whose id begins with `prefix`, ordered by the bytes of their ids, at most `limit`. */
  devicesBehind(after: string | null, prefix: string, limit: number): readonly Device[];
}

/** The devices of a scan, by number from 0, ordered by the bytes of their ids. */
export interface ScannedDevices {
  readonly ids: TextColumn;
  readonly lowerIds: TextColumn;
  /** NUL, product, line feed, and a line `key=value` for each label. */
  readonly terms: TextColumn;
  /** True: there is no further device up to the end asked for. */
  readonly isComplete: boolean;
}

/** The texts of all devices one after the other in UTF-8, and the end of each. Outside V8's heap, which would copy them. */
export interface TextColumn {
  readonly bytes: Buffer;
  readonly ends: Uint32Array;
}

export interface DeviceScanner {
  /** Grows when devices may have changed without an event. */
  readonly changes: number;
  /**
   * Up to 2048 devices behind the id `after`, up to and with the id `until`, both byte texts; null: unbounded. It takes about 1 ms.
   * Throws if the store cannot be read.
   */
  scan(after: string | null, until: string | null): ScannedDevices;
}
