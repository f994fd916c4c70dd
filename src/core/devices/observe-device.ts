/**
 * Observes a device over several members: the shared row, and what the members of its sessions know that is not
 * in it yet, asked all at once. What one of them does not say in time, the row says as it was last written down.
 * Source: cluster.md, Record and the failure table; decisions.md, Connectivity.
 */
import type { Result } from '../../lib/result.ts';
import type { ConnectionKind, DeviceRow, MemberId, SessionSlot } from '../../model/cluster.ts';
import { latestTimes, type ConnectionTimes, type ConnectivityRecord } from '../../model/connectivity.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import { connectivityQueryMsMax, ownerQueryMsMax } from '../../model/limits.ts';
import type { PeerAnswer, PeerFailure } from '../../model/peer.ts';
import { SharedStateUnavailable } from '../ports/session-locator.ts';
import type { ClusterDeps } from './locate-device.ts';

type DeviceHeartbeats = PeerAnswer<'heartbeats'>;

/** What this member knows by itself, and the sessions that it has of the device. */
interface LocalView {
  readonly sessions: Readonly<Record<ConnectionKind, SessionId | null>>;
  readonly record: ConnectivityRecord;
}

const bothKinds: readonly ConnectionKind[] = ['sleep', 'signal'];

/**
 * Null: it is unknown. Settles when the row and the members do: that of a device that is here is not waited for
 * longer than a member is. `look` is asked after every wait. Rejects when the store cannot be read.
 */
export async function observeDevice(
  cluster: ClusterDeps,
  deviceId: DeviceId,
  look: () => LocalView,
): Promise<ConnectivityRecord | null> {
  const findMs = isHere(look()) ? ownerQueryMsMax : connectivityQueryMsMax;
  const found = await unlessUnavailable(() => findAndAsk(cluster, deviceId, findMs));
  const view = look();
  if (found === null) return isHere(view) ? view.record : null;
  if (!found.hasFailed) return combine(cluster, found.row, view, found.heartbeats);
  const kept = await unlessUnavailable(() => cluster.locator.findKept(deviceId, connectivityQueryMsMax));
  return kept === null ? null : combine(cluster, kept, look(), found.heartbeats);
}

function isHere({ sessions }: LocalView): boolean {
  return sessions.sleep !== null || sessions.signal !== null;
}

async function unlessUnavailable<Value>(find: () => Value | Promise<Value>): Promise<Value | null> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof SharedStateUnavailable) return null;
    throw error;
  }
}

interface Found {
  readonly row: DeviceRow;
  readonly heartbeats: readonly DeviceHeartbeats[];
  /** A member with a session could not be asked, or did not answer. */
  readonly hasFailed: boolean;
}

/** Where somebody who was asked has the session no more, it has moved since: looked up once more. */
async function findAndAsk(cluster: ClusterDeps, deviceId: DeviceId, findMs: number): Promise<Found> {
  const first = await cluster.locator.find(deviceId, findMs);
  const asked = await askOwners(cluster, deviceId, first);
  if (!asked.hasMoved) return { row: first, ...asked };
  const row = await cluster.locator.find(deviceId, findMs);
  return { row, ...(await askOwners(cluster, deviceId, row)) };
}

interface Asked extends Omit<Found, 'row'> {
  readonly hasMoved: boolean;
}

async function askOwners({ peers }: ClusterDeps, deviceId: DeviceId, row: DeviceRow): Promise<Asked> {
  const members = new Set(bothKinds.flatMap((kind) => row[kind].slots.map(({ member }) => member)));
  members.delete(peers.self);
  const asked = await Promise.all(Array.from(members, (member) => askOwner(peers, member, deviceId)));
  const heartbeats: DeviceHeartbeats[] = [];
  let [hasFailed, hasMoved] = [false, false];
  for (const { member, answer } of asked)
    if (!answer.ok) hasFailed = true;
    else {
      heartbeats.push(answer.value);
      hasMoved ||= bothKinds.some((kind) => isMissing(row[kind].slots, member, answer.value[kind]));
    }
  return { heartbeats, hasFailed, hasMoved };
}

interface OwnerAnswer {
  readonly member: MemberId;
  readonly answer: Result<DeviceHeartbeats, PeerFailure>;
}

async function askOwner(
  peers: ClusterDeps['peers'],
  member: MemberId,
  deviceId: DeviceId,
): Promise<OwnerAnswer> {
  return {
    member,
    answer: await peers.ask<'heartbeats'>(member, { kind: 'heartbeats', deviceId }, ownerQueryMsMax),
  };
}

function isMissing(
  slots: readonly SessionSlot[],
  member: MemberId,
  heartbeat: DeviceHeartbeats[ConnectionKind],
): boolean {
  return slots.some((slot) => slot.member === member && slot.session !== heartbeat?.session);
}

function combine(
  { peers }: ClusterDeps,
  row: DeviceRow,
  { sessions, record }: LocalView,
  heartbeats: readonly DeviceHeartbeats[],
): ConnectivityRecord {
  const isElsewhere = row.signal.slots.some(({ member }) => member !== peers.self);
  const timesOf = (kind: ConnectionKind): ConnectionTimes => {
    // What was ours, and is over in the row as well, is in it as all saw it.
    const isOurs = sessions[kind] !== null || row[kind].slots.some(({ member }) => member === peers.self);
    const reported = heartbeats.map((heartbeat) => heartbeat[kind]?.heartbeatAt ?? 0);
    return latestTimes(isOurs ? latestTimes(row[kind], record[kind]) : row[kind], heartbeatTimes(reported));
  };
  return {
    deviceId: record.deviceId,
    signal: { isOnline: sessions.signal !== null || isElsewhere, ...timesOf('signal') },
    sleep: timesOf('sleep'),
  };
}

/** Unix seconds; 0: none. */
function heartbeatTimes(heartbeats: readonly number[]): ConnectionTimes {
  const lastHeartbeatAt = Math.max(0, ...heartbeats) || null;
  return { lastLoginAt: null, lastHeartbeatAt, lastOfflineAt: null };
}
