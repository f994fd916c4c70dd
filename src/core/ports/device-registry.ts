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
