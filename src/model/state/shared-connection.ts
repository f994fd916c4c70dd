/**
 * One connection of one device in a cluster, as a pure state machine on the row that all members share: the holder of the row (a
 * transaction of the shared store, a compare-and-set) applies the events that a member reports. Sessions are identified by their
 * ids: an event of a session without a slot changes nothing.
 *
 * Invariants, each with a test:
 *  1. Epochs are unique: every login takes the next one.
 *  2. Events are idempotent: a repeated login or end changes nothing.
 *  3. The last reported of two competing logins wins the slot; one reported late wins only if it is the later login.
 *  4. Every end except a replacement sets lastOfflineAt and is published once.
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
      readonly atMs: number;
      /**
       * The login happened earlier, while the member was cut off: a later login keeps the slot. Members' wall clocks differ, so
       * logins reported at once are ordered by their reports, not by their times.
       */
      readonly isLate: boolean;
    }
  | {
      readonly kind: 'ended';
      readonly session: SessionId;
      readonly atMs: number;
      /** Unix seconds of its latest heartbeat; 0: none. */
      readonly heartbeatAt: number;
    };

export type SharedOutcome =
  /**
   * `isNew` false: the session already has the slot. `superseded`: slots of other sessions that it replaced; their members are
   * to be notified.
   */
  | {
      readonly kind: 'claimed';
      readonly slot: SessionSlot;
      readonly isNew: boolean;
      readonly superseded: readonly SessionSlot[];
    }
  /** A later login has the slot: the session is to be closed as replaced. */
  | { readonly kind: 'lost' }
  | { readonly kind: 'left'; readonly slot: SessionSlot }
  /** The row is unchanged, and there is nothing to publish. */
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

/** Slots that a login replaces: on signal all; on sleep the one of its own node, or else the oldest when no slot is free. */
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
  return {
    row: { ...withHeartbeat(row, heartbeatAt), slots, lastOfflineAt },
    outcome: { kind: 'left', slot },
  };
}

function withHeartbeat(row: SharedConnection, heartbeatAt: number): SharedConnection {
  if (heartbeatAt === 0 || heartbeatAt <= (row.lastHeartbeatAt ?? 0)) return row;
  return { ...row, lastHeartbeatAt: heartbeatAt };
}

function claimSlot(slot: SessionSlot, isNew: boolean, superseded: readonly SessionSlot[]): SharedOutcome {
  return { kind: 'claimed', slot, isNew, superseded };
}

function latest(one: number | null, other: number): number {
  return one === null ? other : Math.max(one, other);
}
