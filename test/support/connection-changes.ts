/** Changes of a device's connection as its actor writes them, which knows nothing of the sessions of other members. */
import { signalEvent, sleepEvent } from '../../src/model/state/session-event.ts';
import type { ConnectionKind } from '../../src/model/cluster.ts';
import { neverConnected } from '../../src/model/connectivity.ts';
import type { DeviceId, SessionId } from '../../src/model/ids.ts';
import type { ConnectionRecords } from '../../src/core/ports/connection-records.ts';

export interface ConnectionPlace {
  readonly records: ConnectionRecords;
  readonly kind: ConnectionKind;
  readonly deviceId: DeviceId;
  readonly node: string;
}

export function writeLogin(place: ConnectionPlace, session: SessionId, atMs: number): void {
  const { records, kind, deviceId, node } = place;
  const known = records.read(deviceId) ?? neverConnected;
  const epoch = known.epoch + 1;
  const replaced = known.openSession !== null;
  const change = { kind: 'opened', session, epoch, atMs, replaced } as const;
  const record = { ...known, epoch, lastLoginAt: Math.floor(atMs / 1000), openSession: session };
  const event =
    kind === 'sleep' ? sleepEvent(deviceId, node, change) : signalEvent(deviceId, node, change, null);
  records.write(deviceId, record, event);
}

/** `heartbeatAt`: Unix seconds of its latest one; null: none. */
export function writeEnd(
  place: ConnectionPlace,
  session: SessionId,
  atMs: number,
  heartbeatAt: number | null,
): void {
  const { records, kind, deviceId, node } = place;
  const known = records.read(deviceId) ?? neverConnected;
  const { epoch } = known;
  const change = { kind: 'closed', session, epoch, atMs, reason: 'peer_closed' } as const;
  const event =
    kind === 'sleep' ? sleepEvent(deviceId, node, change) : signalEvent(deviceId, node, change, null);
  const lastOfflineAt = Math.floor(atMs / 1000);
  const lastHeartbeatAt = heartbeatAt ?? known.lastHeartbeatAt;
  records.write(deviceId, { ...known, lastHeartbeatAt, lastOfflineAt, openSession: null }, event);
}

/** `heartbeatAt`: Unix seconds. */
export function writeHeartbeat(place: ConnectionPlace, session: SessionId, heartbeatAt: number): void {
  const { records, deviceId } = place;
  const known = records.read(deviceId) ?? neverConnected;
  records.write(deviceId, { ...known, lastHeartbeatAt: heartbeatAt, openSession: session }, null);
}
