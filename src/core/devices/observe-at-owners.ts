/**
 * A device's record in a cluster: the shared row, plus the newer facts of the members that have its sessions, asked in parallel.
 * Source: cluster.md, Record and the failure table.
 */
import {
  connectionKinds,
  type ConnectionKind,
  type DeviceRow,
  type MemberId,
  type SessionSlot,
  type SharedConnection,
} from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';
import { connectivityQueryMsMax, ownerQueryMsMax } from '../../model/limits.ts';
import type { DeviceHeartbeats } from '../../protocol/cluster/peer-message.ts';
import type { Peers } from '../ports/peers.ts';
import { SharedStateUnavailable, type SessionLocator } from '../ports/session-locator.ts';
import { combine, observeOwn, type Observe, type OwnDeps } from './observe-device.ts';
import { OwnerQuestions } from './owner-questions.ts';

interface Seen {
  readonly row: DeviceRow;
  readonly heartbeats: readonly DeviceHeartbeats[];
  /** True: a member with a session did not answer. */
  readonly hasFailed: boolean;
  /** True: a member no longer has the session. */
  readonly hasMoved: boolean;
}

/**
 * Settles with the row and the members. For a device that signals here the wait is that of a question to a member. A device that
 * only sleeps here may signal elsewhere, so a missing answer does not make it offline.
 */
export function observeAtOwners(peers: Peers, locator: SessionLocator): Observe {
  const { self } = peers;
  const owners = new OwnerQuestions(peers);
  const find = async (deviceId: DeviceId, waitMs: number): Promise<Seen> =>
    ask(self, owners, deviceId, await locator.find(deviceId, waitMs));
  return async (own, deviceId) => {
    // Starts after the caller's deadline timer, so that a row that takes as long counts as late, not as unavailable.
    await Promise.resolve();
    const isOnlineHere = openKinds(own, deviceId).includes('signal');
    const waitMs = isOnlineHere ? ownerQueryMsMax : connectivityQueryMsMax;
    const seen = await unlessUnavailable(async () => {
      const first = await find(deviceId, waitMs);
      return first.hasMoved ? find(deviceId, waitMs) : first;
    });
    if (seen === null) return openKinds(own, deviceId).length === 0 ? null : observeOwn(own, deviceId);
    const row = seen.hasFailed
      ? await unlessUnavailable(() => locator.findKept(deviceId, connectivityQueryMsMax))
      : seen.row;
    return row === null ? null : combine(self, withHeartbeats(row, seen.heartbeats), own, deviceId);
  };
}

async function ask(
  self: MemberId,
  owners: OwnerQuestions,
  deviceId: DeviceId,
  row: DeviceRow,
): Promise<Seen> {
  const members = new Set(connectionKinds.flatMap((kind) => row[kind].slots.map(({ member }) => member)));
  members.delete(self);
  const heartbeats: DeviceHeartbeats[] = [];
  let [hasFailed, hasMoved] = [false, false];
  const asked = Array.from(members, async (member) => ({
    member,
    answer: await owners.ask(member, deviceId),
  }));
  for (const { member, answer } of await Promise.all(asked))
    if (answer === null) hasFailed = true;
    else {
      heartbeats.push(answer);
      hasMoved ||= connectionKinds.some((kind) => isMissing(row[kind].slots, member, answer[kind]));
    }
  return { row, heartbeats, hasFailed, hasMoved };
}

function openKinds({ directory }: OwnDeps, deviceId: DeviceId): readonly ConnectionKind[] {
  const actor = directory.find(deviceId);
  return actor === null ? [] : connectionKinds.filter((kind) => actor.session(kind) !== null);
}

async function unlessUnavailable<Value>(find: () => Promise<Value>): Promise<Value | null> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof SharedStateUnavailable) return null;
    throw error;
  }
}

function isMissing(
  slots: readonly SessionSlot[],
  member: MemberId,
  heartbeat: DeviceHeartbeats[ConnectionKind],
): boolean {
  return slots.some((slot) => slot.member === member && slot.session !== heartbeat?.session);
}

function withHeartbeats(row: DeviceRow, heartbeats: readonly DeviceHeartbeats[]): DeviceRow {
  const latest = (kind: ConnectionKind): SharedConnection => {
    const times = heartbeats.map((heartbeat) => heartbeat[kind]?.heartbeatAt ?? 0);
    return { ...row[kind], lastHeartbeatAt: Math.max(row[kind].lastHeartbeatAt ?? 0, ...times) || null };
  };
  return { sleep: latest('sleep'), signal: latest('signal') };
}
