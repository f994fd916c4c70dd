/**
 * What several members have observed of a device: the shared row, and what the members of its sessions know that is not
 * in it yet, asked all at once. What one of them does not say in time, the row says as it was last written down.
 * Source: cluster.md, Record and the failure table; decisions.md, Connectivity.
 */
import type { Outcome } from '../../lib/outcome.ts';
import type { ConnectionKind, DeviceRow, MemberId, Seat } from '../../model/cluster.ts';
import { latestTimes, type ConnectionTimes, type ConnectivityRecord } from '../../model/connectivity.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import { connectivityQueryMsMax, ownerQueryMsMax } from '../../model/limits.ts';
import type { PeerAnswer, PeerFailure } from '../../model/peer.ts';
import { SharedStateAway } from '../ports/whereabouts.ts';
import type { ClusterHouse } from './locate-device.ts';

type Beats = PeerAnswer<'beats'>;

/** What this member knows by itself, and the sessions that it has of the device. */
interface LocalView {
  readonly sessions: Readonly<Record<ConnectionKind, SessionId | null>>;
  readonly record: ConnectivityRecord;
}

const bothKinds: readonly ConnectionKind[] = ['sleep', 'signal'];

/**
 * Null: it cannot be told. Settles when the row and the members do: that of a device that is here is not waited for
 * longer than a member is. `look` is asked after every wait. Rejects when the store cannot be read.
 */
export async function observeDevice(
  cluster: ClusterHouse,
  deviceId: DeviceId,
  look: () => LocalView,
): Promise<ConnectivityRecord | null> {
  const findMs = isHere(look()) ? ownerQueryMsMax : connectivityQueryMsMax;
  const found = await unlessAway(() => findAndAsk(cluster, deviceId, findMs));
  const view = look();
  if (found === null) return isHere(view) ? view.record : null;
  if (!found.hasFailed) return combine(cluster, found.row, view, found.beats);
  const kept = await unlessAway(() => cluster.whereabouts.findKept(deviceId, connectivityQueryMsMax));
  return kept === null ? null : combine(cluster, kept, look(), found.beats);
}

function isHere({ sessions }: LocalView): boolean {
  return sessions.sleep !== null || sessions.signal !== null;
}

async function unlessAway<Value>(find: () => Value | Promise<Value>): Promise<Value | null> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof SharedStateAway) return null;
    throw error;
  }
}

interface Found {
  readonly row: DeviceRow;
  readonly beats: readonly Beats[];
  /** A member with a session could not be asked, or did not answer. */
  readonly hasFailed: boolean;
}

/** Where somebody who was asked has the session no more, it has moved since: looked up once more. */
async function findAndAsk(cluster: ClusterHouse, deviceId: DeviceId, findMs: number): Promise<Found> {
  const first = await cluster.whereabouts.find(deviceId, findMs);
  const asked = await askOwners(cluster, deviceId, first);
  if (!asked.hasMoved) return { row: first, ...asked };
  const row = await cluster.whereabouts.find(deviceId, findMs);
  return { row, ...(await askOwners(cluster, deviceId, row)) };
}

interface Asked extends Omit<Found, 'row'> {
  readonly hasMoved: boolean;
}

async function askOwners({ peers }: ClusterHouse, deviceId: DeviceId, row: DeviceRow): Promise<Asked> {
  const members = new Set(bothKinds.flatMap((kind) => row[kind].seats.map(({ member }) => member)));
  members.delete(peers.self);
  const asked = await Promise.all(Array.from(members, (member) => askOwner(peers, member, deviceId)));
  const beats: Beats[] = [];
  let [hasFailed, hasMoved] = [false, false];
  for (const { member, answer } of asked)
    if (!answer.ok) hasFailed = true;
    else {
      beats.push(answer.value);
      hasMoved ||= bothKinds.some((kind) => isMissing(row[kind].seats, member, answer.value[kind]));
    }
  return { beats, hasFailed, hasMoved };
}

interface OwnerAnswer {
  readonly member: MemberId;
  readonly answer: Outcome<Beats, PeerFailure>;
}

async function askOwner(
  peers: ClusterHouse['peers'],
  member: MemberId,
  deviceId: DeviceId,
): Promise<OwnerAnswer> {
  return { member, answer: await peers.ask<'beats'>(member, { kind: 'beats', deviceId }, ownerQueryMsMax) };
}

function isMissing(seats: readonly Seat[], member: MemberId, beat: Beats[ConnectionKind]): boolean {
  return seats.some((seat) => seat.member === member && seat.session !== beat?.session);
}

function combine(
  { peers }: ClusterHouse,
  row: DeviceRow,
  { sessions, record }: LocalView,
  beats: readonly Beats[],
): ConnectivityRecord {
  const isElsewhere = row.signal.seats.some(({ member }) => member !== peers.self);
  const timesOf = (kind: ConnectionKind): ConnectionTimes => {
    // What was ours, and is over in the row as well, is in it as all saw it.
    const isOurs = sessions[kind] !== null || row[kind].seats.some(({ member }) => member === peers.self);
    const heard = beats.map((beat) => beat[kind]?.heartbeatAt ?? 0);
    return latestTimes(isOurs ? latestTimes(row[kind], record[kind]) : row[kind], heardOf(heard));
  };
  return {
    deviceId: record.deviceId,
    signal: { isOnline: sessions.signal !== null || isElsewhere, ...timesOf('signal') },
    sleep: timesOf('sleep'),
  };
}

/** Unix seconds; 0: none. */
function heardOf(heartbeats: readonly number[]): ConnectionTimes {
  const lastHeartbeatAt = Math.max(0, ...heartbeats) || null;
  return { lastLoginAt: null, lastHeartbeatAt, lastOfflineAt: null };
}
