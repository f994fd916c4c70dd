/**
 * A device's record where several members are one server: the shared row, and what the members of its sessions know that is
 * not in it yet, asked all at once. Source: cluster.md, Record and the failure table.
 */
import { latestTimes, type ConnectionTimes, type ConnectivityRecord } from '../../model/connectivity.ts';
import type { ConnectionKind, DeviceRow, MemberId, SessionSlot } from '../../model/cluster.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import { connectivityQueryMsMax, ownerQueryMsMax } from '../../model/limits.ts';
import type { DeviceHeartbeats } from '../../model/peer.ts';
import { SharedStateUnavailable, type SessionLocator } from '../ports/session-locator.ts';
import type { OwnerQuestions } from './owner-questions.ts';

/** What is asked of the others for one query, or one batch of them. */
export interface SharedView {
  readonly self: MemberId;
  readonly locator: SessionLocator;
  readonly owners: OwnerQuestions;
}

/** What this member knows by itself, and the sessions that it has of the device. */
export interface LocalView {
  readonly sessions: Readonly<Record<ConnectionKind, SessionId | null>>;
  readonly record: ConnectivityRecord;
}

const bothKinds: readonly ConnectionKind[] = ['sleep', 'signal'];

/**
 * Null: it is unknown. Settles when the row and the members do: that of a device that is here is not waited for
 * longer than a member is. `look` is asked after every wait. Rejects when the store cannot be read.
 */
export async function observeDevice(
  shared: SharedView,
  deviceId: DeviceId,
  look: () => LocalView,
): Promise<ConnectivityRecord | null> {
  const findMs = isHere(look()) ? ownerQueryMsMax : connectivityQueryMsMax;
  const found = await unlessUnavailable(() => findAndAsk(shared, deviceId, findMs));
  const view = look();
  if (found === null) return isHere(view) ? view.record : null;
  if (!found.hasFailed) return combine(shared, found.row, view, found.heartbeats);
  const kept = await unlessUnavailable(() => shared.locator.findKept(deviceId, connectivityQueryMsMax));
  return kept === null ? null : combine(shared, kept, look(), found.heartbeats);
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
async function findAndAsk(shared: SharedView, deviceId: DeviceId, findMs: number): Promise<Found> {
  const first = await shared.locator.find(deviceId, findMs);
  const asked = await askOwners(shared, deviceId, first);
  if (!asked.hasMoved) return { row: first, ...asked };
  const row = await shared.locator.find(deviceId, findMs);
  return { row, ...(await askOwners(shared, deviceId, row)) };
}

interface Asked extends Omit<Found, 'row'> {
  readonly hasMoved: boolean;
}

async function askOwners({ self, owners }: SharedView, deviceId: DeviceId, row: DeviceRow): Promise<Asked> {
  const members = new Set(bothKinds.flatMap((kind) => row[kind].slots.map(({ member }) => member)));
  members.delete(self);
  const heartbeats: DeviceHeartbeats[] = [];
  let [hasFailed, hasMoved] = [false, false];
  for (const { member, heartbeats: told } of await owners.ask(members, deviceId))
    if (told === null) hasFailed = true;
    else {
      heartbeats.push(told);
      hasMoved ||= bothKinds.some((kind) => isMissing(row[kind].slots, member, told[kind]));
    }
  return { heartbeats, hasFailed, hasMoved };
}

function isMissing(
  slots: readonly SessionSlot[],
  member: MemberId,
  heartbeat: DeviceHeartbeats[ConnectionKind],
): boolean {
  return slots.some((slot) => slot.member === member && slot.session !== heartbeat?.session);
}

function combine(
  { self }: SharedView,
  row: DeviceRow,
  { sessions, record }: LocalView,
  heartbeats: readonly DeviceHeartbeats[],
): ConnectivityRecord {
  const isElsewhere = row.signal.slots.some(({ member }) => member !== self);
  const timesOf = (kind: ConnectionKind): ConnectionTimes => {
    // What was ours, and is over in the row as well, is in it as all saw it.
    const isOurs = sessions[kind] !== null || row[kind].slots.some(({ member }) => member === self);
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
