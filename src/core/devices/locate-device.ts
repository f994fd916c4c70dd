/**
 * Locates a device's connection among several members: at the oldest of its sessions whose member lives. What this member
 * has itself it knows better than the shared row: a session of its own that is not in it is not yet committed, one that is in
 * it and not here has just ended. Source: cluster.md, Ownership.
 */
import type { DeviceActor } from './device-actor.ts';
import type { DeviceDirectory } from './device-directory.ts';
import type { ConnectionKind, DeviceRow, DeviceSlots, SessionSlot } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { WakeupName, WakeupRecord } from '../../model/wakeup.ts';
import type { Peers } from '../ports/peers.ts';
import type { MemberSearch } from './member-search.ts';
import { SharedStateUnavailable, type SessionLocator } from '../ports/session-locator.ts';

/** What a member of several has of the others. */
export interface ClusterDeps {
  readonly peers: Peers;
  readonly locator: SessionLocator;
  /** For a device that the locator has nowhere. */
  readonly search: MemberSearch;
  /** A wakeup that another member may have done. Rejects with SharedStateUnavailable, within `waitMs`. */
  recallWakeup(name: WakeupName, waitMs: number): Promise<WakeupRecord | null>;
  /**
   * True: the log that all share has come to `sequence`, or that is unknown; this member's may be a moment behind it.
   * Never rejects.
   */
  logReaches(sequence: number): Promise<boolean>;
}

export interface DeviceLocation {
  /** `lost`: only members that are gone have sessions; `unavailable`: the shared state is, and there is none here. */
  readonly owner: SessionSlot | 'here' | 'nowhere' | 'lost' | 'unavailable';
  /** Slots of the connection at other members that live. */
  readonly others: readonly SessionSlot[];
  /** There is a signal session, at whichever member. */
  readonly isOnline: boolean;
  /** All of them, as the shared row has them; none while that is unavailable. */
  readonly slots: DeviceSlots;
}

/** Settles within `waitMs`. Rejects when the row cannot be read. */
export async function locateDevice(
  { directory }: { readonly directory: DeviceDirectory },
  { peers, locator }: ClusterDeps,
  connection: ConnectionKind,
  deviceId: DeviceId,
  waitMs: number,
): Promise<DeviceLocation> {
  try {
    const slots = slotsIn(await locator.find(deviceId, waitMs));
    return { ...locationIn(slots, connection, directory.find(deviceId), peers), slots };
  } catch (error) {
    if (!(error instanceof SharedStateUnavailable)) throw error;
    const actor = directory.find(deviceId);
    const owner = sessionOf(actor, connection) === null ? 'unavailable' : 'here';
    return { owner, others: [], isOnline: sessionOf(actor, 'signal') !== null, slots: noSlots };
  }
}

const noSlots: DeviceSlots = { sleep: [], signal: [] };

function slotsIn({ sleep, signal }: DeviceRow): DeviceSlots {
  return { sleep: sleep.slots, signal: signal.slots };
}

/** The same by known slots. `actor`: the device's here. */
export function locationIn(
  known: DeviceSlots,
  connection: ConnectionKind,
  actor: DeviceActor | null,
  peers: Peers,
): Omit<DeviceLocation, 'slots'> {
  const own = sessionOf(actor, connection);
  const slots = known[connection];
  const others = slots.filter(({ member }) => member !== peers.self && peers.isAlive(member));
  const isOnline =
    sessionOf(actor, 'signal') !== null || known.signal.some(({ member }) => member !== peers.self);
  const isUncommitted = own !== null && !slots.some(({ session }) => session === own);
  const first = slots.find((slot) => slot.session === own || others.includes(slot));
  if (isUncommitted || first?.session === own) return { owner: 'here', others, isOnline };
  const hasLost = slots.some(({ member }) => member !== peers.self);
  return { owner: first ?? (hasLost ? 'lost' : 'nowhere'), others, isOnline };
}

function sessionOf(actor: DeviceActor | null, connection: ConnectionKind): SessionSlot['session'] | null {
  return actor?.session(connection) ?? null;
}
