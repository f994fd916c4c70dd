/**
 * A device's record as one query sees it. A standalone server knows all of it; in a cluster, local knowledge is combined with the
 * shared row, and the owners are asked (observe-at-owners.ts). Source: cluster.md, Record.
 */
import {
  latestTimes,
  neverConnected,
  type ConnectionTimes,
  type ConnectivityRecord,
} from '../../model/connectivity.ts';
import type { ConnectionKind, DeviceRow, MemberId } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { ConnectionRecords } from '../ports/records.ts';
import type { DeviceActor } from './device-actor.ts';
import type { DeviceDirectory } from './device-directory.ts';

export interface OwnDeps {
  readonly directory: Pick<DeviceDirectory, 'find'>;
  readonly sleepRecords: Pick<ConnectionRecords, 'read'>;
  readonly signalRecords: Pick<ConnectionRecords, 'read'>;
}

/**
 * A device's record; null: unavailable. A value if no other process has to be asked. Throws, or rejects, when the store cannot be
 * read.
 */
export type Observe = (
  own: OwnDeps,
  deviceId: DeviceId,
) => ConnectivityRecord | null | Promise<ConnectivityRecord | null>;

/** The view of a standalone server, which has all sessions. */
export function observeOwn(own: OwnDeps, deviceId: DeviceId): ConnectivityRecord {
  const actor = own.directory.find(deviceId);
  const isOnline = actor !== null && actor.connection('signal') !== null;
  const sleep = ownTimes(own, actor, 'sleep', deviceId);
  return recordOf(deviceId, isOnline, sleep, ownTimes(own, actor, 'signal', deviceId));
}

function ownTimes(
  { sleepRecords, signalRecords }: OwnDeps,
  actor: DeviceActor | null,
  kind: ConnectionKind,
  deviceId: DeviceId,
): ConnectionTimes {
  if (actor !== null) return actor.times(kind);
  return (kind === 'sleep' ? sleepRecords : signalRecords).read(deviceId) ?? neverConnected;
}

/** Combines the shared row with the local state, which is newer for local sessions. */
export function combine(
  self: MemberId,
  row: DeviceRow,
  own: OwnDeps,
  deviceId: DeviceId,
): ConnectivityRecord {
  const actor = own.directory.find(deviceId);
  const isElsewhere = row.signal.slots.some(({ member }) => member !== self);
  const isOnline = isElsewhere || (actor !== null && actor.connection('signal') !== null);
  const timesOf = (kind: ConnectionKind): ConnectionTimes => {
    const shared = row[kind];
    // A local session that is over in the row as well is complete there.
    const isOurs =
      (actor?.session(kind) ?? null) !== null || shared.slots.some(({ member }) => member === self);
    return isOurs ? latestTimes(shared, ownTimes(own, actor, kind, deviceId)) : timesIn(shared);
  };
  return recordOf(deviceId, isOnline, timesOf('sleep'), timesOf('signal'));
}

function timesIn({ lastLoginAt, lastHeartbeatAt, lastOfflineAt }: ConnectionTimes): ConnectionTimes {
  return { lastLoginAt, lastHeartbeatAt, lastOfflineAt };
}

function recordOf(
  deviceId: DeviceId,
  isOnline: boolean,
  sleep: ConnectionTimes,
  { lastLoginAt, lastHeartbeatAt, lastOfflineAt }: ConnectionTimes,
): ConnectivityRecord {
  return { deviceId, signal: { isOnline, lastLoginAt, lastHeartbeatAt, lastOfflineAt }, sleep };
}
