/**
 * A device's record among nodes: the shared row, and what the members of its sessions know that is not in it yet, asked all
 * at once. Source: cluster.md, Record and the failure table.
 */
import type { ConnectivityRecord } from '../../model/connectivity.ts';
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

export function observeAtOwners(peers: Peers, locator: SessionLocator): Observe {
  const observer = new OwnersObserver(peers, locator);
  return (own, deviceId) => observer.observe(own, deviceId);
}

class OwnersObserver {
  readonly #self: MemberId;
  readonly #locator: SessionLocator;
  readonly #owners: OwnerQuestions;

  constructor(peers: Peers, locator: SessionLocator) {
    this.#self = peers.self;
    this.#locator = locator;
    this.#owners = new OwnerQuestions(peers);
  }

  /**
   * Settles when the row and the members do: that of a device that signals here is not waited for longer than a member is.
   * One that only sleeps here may signal elsewhere, and is not called offline for want of an answer.
   */
  async observe(own: OwnDeps, deviceId: DeviceId): Promise<ConnectivityRecord | null> {
    // Behind the deadline of who asks: a row that is sought for as long is late, not unavailable.
    await Promise.resolve();
    const findMs = isOnlineHere(own, deviceId) ? ownerQueryMsMax : connectivityQueryMsMax;
    const found = await unlessUnavailable(() => this.#findAndAsk(deviceId, findMs));
    if (found === null) return isHere(own, deviceId) ? observeOwn(own, deviceId) : null;
    if (!found.hasFailed) return this.#combine(found.row, found.heartbeats, own, deviceId);
    const kept = await unlessUnavailable(() => this.#locator.findKept(deviceId, connectivityQueryMsMax));
    return kept === null ? null : this.#combine(kept, found.heartbeats, own, deviceId);
  }

  /** Where somebody who was asked has the session no more, it has moved since: looked up once more. */
  async #findAndAsk(deviceId: DeviceId, findMs: number): Promise<Found> {
    const first = await this.#locator.find(deviceId, findMs);
    const asked = await this.#ask(deviceId, first);
    if (!asked.hasMoved) return { row: first, ...asked };
    const row = await this.#locator.find(deviceId, findMs);
    return { row, ...(await this.#ask(deviceId, row)) };
  }

  async #ask(deviceId: DeviceId, row: DeviceRow): Promise<Asked> {
    const members = new Set(connectionKinds.flatMap((kind) => row[kind].slots.map(({ member }) => member)));
    members.delete(this.#self);
    const heartbeats: DeviceHeartbeats[] = [];
    let [hasFailed, hasMoved] = [false, false];
    const asked = Array.from(members, async (member) => {
      const told = await this.#owners.ask(member, deviceId);
      return { member, told };
    });
    for (const { member, told } of await Promise.all(asked))
      if (told === null) hasFailed = true;
      else {
        heartbeats.push(told);
        hasMoved ||= connectionKinds.some((kind) => isMissing(row[kind].slots, member, told[kind]));
      }
    return { heartbeats, hasFailed, hasMoved };
  }

  #combine(
    row: DeviceRow,
    heartbeats: readonly DeviceHeartbeats[],
    own: OwnDeps,
    deviceId: DeviceId,
  ): ConnectivityRecord {
    const heardRow = { sleep: heard(row, 'sleep', heartbeats), signal: heard(row, 'signal', heartbeats) };
    return combine(this.#self, heardRow, own, deviceId);
  }
}

function isHere({ directory }: OwnDeps, deviceId: DeviceId): boolean {
  const actor = directory.find(deviceId);
  return actor !== null && connectionKinds.some((kind) => actor.session(kind) !== null);
}

function isOnlineHere({ directory }: OwnDeps, deviceId: DeviceId): boolean {
  return (directory.find(deviceId)?.session('signal') ?? null) !== null;
}

async function unlessUnavailable<Value>(find: () => Promise<Value>): Promise<Value | null> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof SharedStateUnavailable) return null;
    throw error;
  }
}

interface Asked {
  readonly heartbeats: readonly DeviceHeartbeats[];
  /** A member with a session could not be asked, or did not answer. */
  readonly hasFailed: boolean;
  readonly hasMoved: boolean;
}

interface Found extends Asked {
  readonly row: DeviceRow;
}

function isMissing(
  slots: readonly SessionSlot[],
  member: MemberId,
  heartbeat: DeviceHeartbeats[ConnectionKind],
): boolean {
  return slots.some((slot) => slot.member === member && slot.session !== heartbeat?.session);
}

/** With what its members have said. */
function heard(
  row: DeviceRow,
  kind: ConnectionKind,
  heartbeats: readonly DeviceHeartbeats[],
): SharedConnection {
  const told = heartbeats.map((heartbeat) => heartbeat[kind]?.heartbeatAt ?? 0);
  return { ...row[kind], lastHeartbeatAt: Math.max(row[kind].lastHeartbeatAt ?? 0, ...told) || null };
}
