/** The sessions whose sockets are here, as the ownership of devices needs them. */
import type { ConnectionKind } from '../../model/cluster.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';

export interface LiveSession {
  readonly session: SessionId;
  /** Unix seconds of its latest heartbeat; 0: none yet. */
  readonly heartbeatAt: number;
}

export interface LiveSessions {
  /** Null: the device has none here. */
  find(deviceId: DeviceId, connection: ConnectionKind): LiveSession | null;
}
