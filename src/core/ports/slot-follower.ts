/** A listener for the fate of this member's sessions in the shared rows. Called after the commit; must not throw. */
import type { ConnectionKind, SessionSlot } from '../../model/cluster.ts';
import type { ConnectionTimes } from '../../model/connectivity.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';

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

export interface SlotFollower {
  taken(slot: SlotClaimed): void;
  /** A later login elsewhere has it: the session here is to be closed as replaced. */
  lost(slot: SlotLost): void;
}
