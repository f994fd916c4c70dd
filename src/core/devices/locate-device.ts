/**
 * Locates a device's connection among several members: at its oldest session whose member is alive. For its own sessions a member
 * trusts its memory over the shared row: a local session missing in the row is not committed yet, and one that is only in the row
 * has just ended. Source: cluster.md, Ownership.
 */
import type { DeviceActor } from './device-actor.ts';
import type { DeviceDirectory } from './device-directory.ts';
import type { ConnectionKind, DeviceRow, DeviceSlots, SessionSlot } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { WakeupName, WakeupRecord } from '../../model/wakeup.ts';
import type { Peers } from '../ports/peers.ts';
import type { MemberSearch } from './member-search.ts';
import { SharedStateUnavailable, type SessionLocator } from '../ports/session-locator.ts';

export interface ClusterDeps {
  readonly peers: Peers;
  readonly locator: SessionLocator;
  /** For devices without a session in the shared row. */
  readonly search: MemberSearch;
  /** Finds a wakeup that another member may have submitted. Rejects with SharedStateUnavailable, within `waitMs`. */
  recallWakeup(name: WakeupName, waitMs: number): Promise<WakeupRecord | null>;
  /** True: the shared log has reached `sequence`, or its head is unknown; this member's copy may lag behind. Never rejects. */
  logReaches(sequence: number): Promise<boolean>;
}

export interface DeviceLocation {
  /** `lost`: only dead members have sessions; `unavailable`: the shared state is unreachable, and no session is here. */
  readonly owner: SessionSlot | 'here' | 'nowhere' | 'lost' | 'unavailable';
  /** Slots of the connection at other live members. */
  readonly others: readonly SessionSlot[];
  readonly isOnline: boolean;
  /** All slots of the shared row; empty while it is unavailable. */
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

/** Like `locateDevice`, from known slots. `actor`: the device's local actor. */
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
