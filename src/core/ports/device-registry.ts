/**
 * The devices of the registry as those who provision them change and list them. A change is decided in its transaction, on
 * the entries of that moment, so that of two who change a device at once neither overwrites what it has not seen.
 */
import type { ApplicationId, DeviceId, ProductId } from '../../model/ids.ts';
import type { Device, Product } from '../../model/registry.ts';
import type { DeviceChange } from '../../model/state/registry-event.ts';

export interface DeviceReads {
  findDevice(deviceId: DeviceId): Device | null;
  findProduct(productId: ProductId): Product | null;
  /** Counts the devices in all products of the application. */
  countDevices(appId: ApplicationId): number;
}

export interface DecidedChanges<Result> {
  readonly result: Result;
  /** Put in this order; none: nothing is written. */
  readonly changes: readonly DeviceChange[];
}

export interface DeviceRegistry {
  /**
   * Puts what `decide` comes to, with the events that tell of it: all or nothing. It may be called again in another
   * transaction. Resolves when it is committed; rejects when the store refuses, and nothing has changed.
   */
  changeDevices<Result>(
    by: ApplicationId,
    decide: (reads: DeviceReads) => DecidedChanges<Result>,
  ): Promise<Result>;
}

/** What a listing reads, a slice at a time. */
export interface DeviceLister {
  /** At most `limit` devices behind `after`, in the order of their ids' bytes, whose id begins with `prefix`. */
  devicesBehind(after: string | null, prefix: string, limit: number): readonly Device[];
}
