/**
 * A device's record as one query sees it: a server alone knows all of it; a node combines its own knowledge with the shared row,
 * and asks the owners (observe-at-owners.ts). Source: cluster.md, Record.
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

/** What a member knows by itself. */
export interface OwnDeps {
  readonly directory: Pick<DeviceDirectory, 'find'>;
  readonly sleepRecords: Pick<ConnectionRecords, 'read'>;
  readonly signalRecords: Pick<ConnectionRecords, 'read'>;
}

/**
 * A device's record; null: nothing is known. A value where nobody has to be waited for. Throws, or rejects, when the store
 * cannot be read.
 */
export type Observe = (
  own: OwnDeps,
  deviceId: DeviceId,
) => ConnectivityRecord | null | Promise<ConnectivityRecord | null>;

/** The view of a server that is alone: it knows all sessions. */
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

/** By the row as it was found, and by what is here now, which is better known here. */
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
    // What was ours, and is over in the row as well, is in it as all saw it.
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
