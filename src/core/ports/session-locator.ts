/**
 * Locates a device's sessions among all members by the shared rows, and notifies a member about its own sessions in them. Source:
 * cluster.md, Ownership and Record.
 */
import type { DeviceRow, SessionName, SessionSlot } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { ConnectionTimes } from '../../model/connectivity.ts';

/** The shared state is unreachable; only local knowledge is available. */
export class SharedStateUnavailable extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'SharedStateUnavailable';
  }
}

export interface SessionLocator {
  /** Rejects with SharedStateUnavailable; settles within `waitMs`. */
  find(deviceId: DeviceId, waitMs: number): Promise<DeviceRow>;
  /** Like `find`, with heartbeats as last stored, at most 35 s old: for when the owner does not answer. */
  findKept(deviceId: DeviceId, waitMs: number): Promise<DeviceRow>;
}

export interface SlotClaimed extends SessionName {
  readonly epoch: number;
  readonly times: ConnectionTimes;
  /** Sessions that this one replaced: their members must be notified. */
  readonly superseded: readonly SessionSlot[];
}

/** Notified of changes to this member's sessions in the shared rows, after the commit; must not throw. */
export interface SlotFollower {
  claimed(slot: SlotClaimed): void;
  /** A later login at another member replaced the session: close it as replaced. */
  lost(session: SessionName): void;
}
