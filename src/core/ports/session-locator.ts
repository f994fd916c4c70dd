/** The members that have a device's sessions, over all members: the shared rows as they are committed. Source: cluster.md, Ownership and Record. */
import type { DeviceRow } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';

/** What is shared cannot be reached: what is known is known here. */
export class SharedStateUnavailable extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'SharedStateUnavailable';
  }
}

export interface SessionLocator {
  /**
   * A value where it is at hand. Rejects (or throws) with SharedStateUnavailable; settles within `waitMs`, which a store that
   * is at hand needs not.
   */
  find(deviceId: DeviceId, waitMs: number): DeviceRow | Promise<DeviceRow>;
  /** The same with heartbeats as they were last written down, at most 35 s behind, for when the owner cannot say. */
  findKept(deviceId: DeviceId, waitMs: number): DeviceRow | Promise<DeviceRow>;
}
