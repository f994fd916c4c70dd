/**
 * One connection of one device as all members of a cluster share it, as a pure machine: whoever holds the row (a
 * transaction of the shared store, a compare-and-set) applies what a member says has happened to it. Sessions are told
 * apart by their ids: what speaks of a session that has no slot any more changes nothing.
 *
 * Invariants, each with a test:
 *  1. An epoch is given once: every login takes the next one.
 *  2. A session sits once: a login, an end, said again, changes nothing.
 *  3. Of two logins that are after the same slot the one told last has it; but one told late only if it is the later one.
 *  4. Every end but a replacement sets lastOfflineAt and is told once.
 *
 * Source: cluster.md, Ownership and Without NATS; decisions.md, Connectivity.
 */
import type { ConnectionKind, MemberId, SessionSlot, SharedConnection } from '../cluster.ts';
import type { SessionId } from '../ids.ts';
import { sleepSlotsMax } from '../limits.ts';

export type SharedEvent =
  | {
      readonly kind: 'login';
      readonly member: MemberId;
      readonly node: string;
      readonly session: SessionId;
      /** Wall milliseconds. */
      readonly atMs: number;
      /**
       * It happened a while ago, out of the others' sight: where a later login has the slot, that keeps it. Members'
       * wall clocks differ, so a login that is told at once is never held against one that was told before.
       */
      readonly isLate: boolean;
    }
  | {
      readonly kind: 'ended';
      readonly session: SessionId;
      readonly atMs: number;
      /** Unix seconds of its latest heartbeat; 0: it saw none. */
      readonly heartbeatAt: number;
    };

export type SharedOutcome =
  /** `isNew` false: it sits there already. `replaced`: it took over what others had; their members are to be told. */
  | {
      readonly kind: 'claimed';
      readonly slot: SessionSlot;
      readonly isNew: boolean;
      readonly superseded: readonly SessionSlot[];
    }
  /** A later login has the slot: the session is to be closed as replaced. */
  | { readonly kind: 'lost' }
  | { readonly kind: 'left'; readonly slot: SessionSlot }
  /** Nothing to tell, and the row is as it was. */
  | { readonly kind: 'unmoved' };

export interface SharedStep {
  /** The same object when nothing has changed. */
  readonly row: SharedConnection;
  readonly outcome: SharedOutcome;
}

export const neverShared: SharedConnection = {
  epoch: 0,
  slots: [],
  lastLoginAt: null,
  lastHeartbeatAt: null,
  lastOfflineAt: null,
};

export function reduceShared(
  connection: ConnectionKind,
  row: SharedConnection,
  event: SharedEvent,
): SharedStep {
  const own = row.slots.find(({ session }) => session === event.session);
  switch (event.kind) {
    case 'login':
      return own === undefined ? login(connection, row, event) : { row, outcome: claimSlot(own, false, []) };
    case 'ended':
      return own === undefined ? { row, outcome: { kind: 'unmoved' } } : leave(row, own, event);
  }
}

type Login = Extract<SharedEvent, { kind: 'login' }>;

function login(connection: ConnectionKind, row: SharedConnection, event: Login): SharedStep {
  const rivals = rivalsOf(connection, row, event.node);
  if (event.isLate && rivals.some(({ loginAtMs }) => loginAtMs > event.atMs))
    return { row, outcome: { kind: 'lost' } };
  const { member, node, session, atMs: loginAtMs } = event;
  const epoch = row.epoch + 1;
  const slot: SessionSlot = { member, node, session, epoch, loginAtMs };
  const staying = row.slots.filter((other) => !rivals.includes(other));
  const slots = [...staying, slot];
  const lastLoginAt = latest(row.lastLoginAt, Math.floor(loginAtMs / 1000));
  return { row: { ...row, epoch, slots, lastLoginAt }, outcome: claimSlot(slot, true, rivals) };
}

/** Whose slot it takes: on signal everybody's, on sleep that of its own node, or of the oldest where there is no other. */
function rivalsOf(
  connection: ConnectionKind,
  { slots }: SharedConnection,
  node: string,
): readonly SessionSlot[] {
  if (connection === 'signal') return slots;
  const sameNode = slots.filter((slot) => slot.node === node);
  if (sameNode.length > 0 || slots.length < sleepSlotsMax) return sameNode;
  return slots.slice(0, 1);
}

function leave(
  row: SharedConnection,
  slot: SessionSlot,
  { atMs, heartbeatAt }: Extract<SharedEvent, { kind: 'ended' }>,
): SharedStep {
  const slots = row.slots.filter((other) => other !== slot);
  const lastOfflineAt = latest(row.lastOfflineAt, Math.floor(atMs / 1000));
  return { row: { ...heard(row, heartbeatAt), slots, lastOfflineAt }, outcome: { kind: 'left', slot } };
}

function heard(row: SharedConnection, heartbeatAt: number): SharedConnection {
  if (heartbeatAt === 0 || heartbeatAt <= (row.lastHeartbeatAt ?? 0)) return row;
  return { ...row, lastHeartbeatAt: heartbeatAt };
}

function claimSlot(slot: SessionSlot, isNew: boolean, superseded: readonly SessionSlot[]): SharedOutcome {
  return { kind: 'claimed', slot, isNew, superseded };
}

function latest(one: number | null, other: number): number {
  return one === null ? other : Math.max(one, other);
}
