/** Changes of a device's connection as its actor writes them, without knowledge of other members' sessions. */
import type { SessionEnd, SessionLogin } from '../../src/model/state/session-event.ts';
import type { ConnectionKind } from '../../src/model/cluster.ts';
import { neverConnected } from '../../src/model/connectivity.ts';
import type { DeviceId, SessionId } from '../../src/model/ids.ts';
import type { ConnectionRecords } from '../../src/core/ports/records.ts';

export interface ConnectionPlace {
  readonly records: ConnectionRecords;
  readonly kind: ConnectionKind;
  readonly deviceId: DeviceId;
  readonly node: string;
}

/** A login of the sleep session `session`, unless `changes` overrides it. */
export function loginOf(changes: Partial<Omit<SessionLogin, 'kind'>> = {}): SessionLogin {
  return { ...sessionPlace, kind: 'login', replaced: false, media: null, ...changes };
}

export function endOf(changes: Partial<Omit<SessionEnd, 'kind'>> = {}): SessionEnd {
  return { ...sessionPlace, kind: 'ended', reason: 'peer_closed', ...changes };
}

const sessionPlace = {
  connection: 'sleep',
  session: 'session' as SessionId,
  epoch: 1,
  atMs: 1_800_000_000_000,
  node: 'node-1',
} as const;

export function writeLogin(place: ConnectionPlace, session: SessionId, atMs: number): void {
  const { records, kind: connection, deviceId, node } = place;
  const known = records.read(deviceId) ?? neverConnected;
  const epoch = known.epoch + 1;
  const replaced = known.openSession !== null;
  const record = { ...known, epoch, lastLoginAt: Math.floor(atMs / 1000), openSession: session };
  records.write(deviceId, record, loginOf({ connection, session, epoch, atMs, node, replaced }));
}

/** `heartbeatAt`: latest heartbeat, Unix seconds; null: none. */
export function writeEnd(
  place: ConnectionPlace,
  session: SessionId,
  atMs: number,
  heartbeatAt: number | null,
): void {
  const { records, kind: connection, deviceId, node } = place;
  const known = records.read(deviceId) ?? neverConnected;
  const { epoch } = known;
  const lastOfflineAt = Math.floor(atMs / 1000);
  const lastHeartbeatAt = heartbeatAt ?? known.lastHeartbeatAt;
  const record = { ...known, lastHeartbeatAt, lastOfflineAt, openSession: null };
  records.write(deviceId, record, endOf({ connection, session, epoch, atMs, node }));
}

/** `heartbeatAt`: Unix seconds. */
export function writeHeartbeat(place: ConnectionPlace, session: SessionId, heartbeatAt: number): void {
  const { records, deviceId } = place;
  const known = records.read(deviceId) ?? neverConnected;
  records.write(deviceId, { ...known, lastHeartbeatAt: heartbeatAt, openSession: session }, null);
}
