/**
 * The members that have a device's sessions, over all members: the shared rows as they are committed, and what this member is
 * told of its own sessions in them. Source: cluster.md, Ownership and Record.
 */
import type { DeviceRow, ConnectionKind, SessionSlot } from '../../model/cluster.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import type { ConnectionTimes } from '../../model/connectivity.ts';

/** What is shared cannot be reached: what is known is known here. */
export class SharedStateUnavailable extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'SharedStateUnavailable';
  }
}

export interface SessionLocator {
  /** Rejects with SharedStateUnavailable; settles within `waitMs`. */
  find(deviceId: DeviceId, waitMs: number): Promise<DeviceRow>;
  /** The same with heartbeats as they were last written down, at most 35 s behind, for when the owner cannot say. */
  findKept(deviceId: DeviceId, waitMs: number): Promise<DeviceRow>;
}

export interface SlotClaimed {
  readonly connection: ConnectionKind;
  readonly deviceId: DeviceId;
  readonly session: SessionId;
  /** The one that all members know it by. */
  readonly epoch: number;
  /** Over all members. */
  readonly times: ConnectionTimes;
  /** Whose sessions it has replaced: other members are to be told. */
  readonly superseded: readonly SessionSlot[];
}

export interface SlotLost {
  readonly connection: ConnectionKind;
  readonly deviceId: DeviceId;
  readonly session: SessionId;
}

/** A listener for the fate of this member's sessions in the shared rows. Called after the commit; must not throw. */
export interface SlotFollower {
  taken(slot: SlotClaimed): void;
  /** A later login elsewhere has it: the session here is to be closed as replaced. */
  lost(slot: SlotLost): void;
}
