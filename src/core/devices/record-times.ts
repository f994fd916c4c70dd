/** The times in a connection's record, and what is known beside them. Source: decisions.md, Connectivity. */
import type { ConnectionRecord, ConnectionTimes } from '../../model/connectivity.ts';

/** `heartbeatAt`: Unix seconds of the latest heartbeat on the live connection; 0: none. */
export function timesOf(record: ConnectionRecord, heartbeatAt: number): ConnectionTimes {
  const { lastLoginAt, lastHeartbeatAt, lastOfflineAt } = record;
  return { lastLoginAt, lastHeartbeatAt: heartbeatAt || lastHeartbeatAt, lastOfflineAt };
}

/** What all members share is as it was; but the latest heartbeat may not have come to them. */
export function withTimes(
  record: ConnectionRecord,
  { lastLoginAt, lastHeartbeatAt, lastOfflineAt }: ConnectionTimes,
): ConnectionRecord {
  const heardAt = Math.max(record.lastHeartbeatAt ?? 0, lastHeartbeatAt ?? 0) || null;
  return { ...record, lastLoginAt, lastHeartbeatAt: heardAt, lastOfflineAt };
}
