/**
 * A device's record among nodes: the shared row, and what the members of its sessions know that is not in it yet, asked all
 * at once. Source: cluster.md, Record and the failure table.
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
import type { DeviceHeartbeats } from '../../model/peer.ts';
import type { Peers } from '../ports/peers.ts';
import { SharedStateUnavailable, type SessionLocator } from '../ports/session-locator.ts';
import { combine, observeOwn, type Observe, type OwnDeps } from './observe-device.ts';
import { OwnerQuestions } from './owner-questions.ts';

/** The row as it was found, with what the members of its sessions have said. */
interface Seen {
  readonly row: DeviceRow;
  readonly heartbeats: readonly DeviceHeartbeats[];
  /** A member with a session could not be asked, or did not answer. */
  readonly hasFailed: boolean;
  /** A member that was asked has the session no more. */
  readonly hasMoved: boolean;
}

/**
 * Settles when the row and the members do: that of a device that signals here is not waited for longer than a member is. One
 * that only sleeps here may signal elsewhere, and is not called offline for want of an answer.
 */
export function observeAtOwners(peers: Peers, locator: SessionLocator): Observe {
  const { self } = peers;
  const owners = new OwnerQuestions(peers);
  const find = async (deviceId: DeviceId, waitMs: number): Promise<Seen> =>
    ask(self, owners, deviceId, await locator.find(deviceId, waitMs));
  return async (own, deviceId) => {
    // Behind the deadline of who asks: a row that is sought for as long is late, not unavailable.
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
  const asked = Array.from(members, async (member) => ({ member, told: await owners.ask(member, deviceId) }));
  for (const { member, told } of await Promise.all(asked))
    if (told === null) hasFailed = true;
    else {
      heartbeats.push(told);
      hasMoved ||= connectionKinds.some((kind) => isMissing(row[kind].slots, member, told[kind]));
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
    const told = heartbeats.map((heartbeat) => heartbeat[kind]?.heartbeatAt ?? 0);
    return { ...row[kind], lastHeartbeatAt: Math.max(row[kind].lastHeartbeatAt ?? 0, ...told) || null };
  };
  return { sleep: latest('sleep'), signal: latest('signal') };
}
