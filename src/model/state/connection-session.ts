/**
 * One connection of one device, sleep or signal, as a pure state machine: from a record and an event it computes the next record
 * and the effects, to be performed in order. No sockets, no store, no clock: time comes in with the event. The record is the
 * state: a session is open while the record names one.
 *
 * Invariants, checked by random walks:
 *  1. Epochs are unique: every login takes the next one.
 *  2. An end of a session other than the open one changes nothing.
 *  3. Every end except a replacement sets lastOfflineAt and is published once; a replacement is published as a login.
 *  4. A login is not a heartbeat.
 *  5. A session superseded by a later login elsewhere closes as replaced; for any other session the event changes nothing.
 *
 * Source: decisions.md, Connectivity; sleep-wire.md, Sessions; signal-wire.md; cluster.md, Ownership.
 */
import type { ConnectionRecord } from '../connectivity.ts';
import type { SessionId } from '../ids.ts';

/** `atMs`: wall milliseconds; `heartbeatAt`: Unix seconds of the connection's latest heartbeat, 0: none. */
export type ConnectionEvent<Reason extends string> =
  | {
      readonly kind: 'login';
      readonly sessionId: SessionId;
      readonly atMs: number;
      /** Latest heartbeat of the connection that this one may replace. */
      readonly heartbeatAt: number;
      /** True: the session was declared lost, but is alive. Default: a login by the device itself. */
      readonly recovered?: boolean;
    }
  | {
      readonly kind: 'ended';
      readonly session: SessionId;
      readonly reason: Reason;
      readonly atMs: number;
      readonly heartbeatAt: number;
    }
  | {
      readonly kind: 'disconnect';
      readonly reason: Reason;
      readonly atMs: number;
      readonly heartbeatAt: number;
    }
  /** A later login at another member has the slot of this session. */
  | { readonly kind: 'superseded'; readonly session: SessionId; readonly heartbeatAt: number }
  | { readonly kind: 'heartbeat'; readonly heartbeatAt: number };

/** A change that is published to backends and to the server. */
export type SessionChange<Reason extends string> =
  | {
      readonly kind: 'opened';
      readonly session: SessionId;
      readonly epoch: number;
      readonly atMs: number;
      readonly replaced: boolean;
      readonly recovered?: true;
    }
  | {
      readonly kind: 'closed';
      readonly session: SessionId;
      readonly epoch: number;
      readonly atMs: number;
      readonly reason: Reason;
    };

export type ConnectionEffect<Reason extends string> =
  /** Store this record and publish the change with it; null: no change to publish. */
  | { readonly kind: 'save'; readonly change: SessionChange<Reason> | null }
  /** Close the connection of the session that was open before this event. */
  | { readonly kind: 'close-previous'; readonly reason: Reason | 'replaced' };

export interface ConnectionStep<Reason extends string> {
  readonly record: ConnectionRecord;
  readonly effects: readonly ConnectionEffect<Reason>[];
}

export function reduceConnection<Reason extends string>(
  record: ConnectionRecord,
  event: ConnectionEvent<Reason>,
): ConnectionStep<Reason> {
  const { openSession } = record;
  return openSession === null ? reduceClosed(record, event) : reduceOpen(record, openSession, event);
}

function reduceClosed<Reason extends string>(
  record: ConnectionRecord,
  event: ConnectionEvent<Reason>,
): ConnectionStep<Reason> {
  switch (event.kind) {
    case 'login':
      return { record: loggedIn(record, event), effects: [opened(record, event, false)] };
    case 'ended':
    case 'disconnect':
    case 'superseded':
    case 'heartbeat':
      return { record, effects: nothing };
  }
}

function reduceOpen<Reason extends string>(
  record: ConnectionRecord,
  session: SessionId,
  event: ConnectionEvent<Reason>,
): ConnectionStep<Reason> {
  switch (event.kind) {
    case 'login':
      return {
        record: loggedIn(withHeartbeat(record, event.heartbeatAt), event),
        effects: [opened(record, event, true), { kind: 'close-previous', reason: 'replaced' }],
      };
    case 'ended':
      if (event.session !== session) return { record, effects: nothing };
      return { record: ended(record, event), effects: [closed(record, session, event)] };
    case 'disconnect':
      return {
        record: ended(record, event),
        effects: [closed(record, session, event), { kind: 'close-previous', reason: event.reason }],
      };
    case 'superseded':
      if (event.session !== session) return { record, effects: nothing };
      return {
        record: { ...withHeartbeat(record, event.heartbeatAt), openSession: null },
        effects: superseded,
      };
    case 'heartbeat':
      if (event.heartbeatAt === 0 || event.heartbeatAt === record.lastHeartbeatAt)
        return { record, effects: nothing };
      return { record: withHeartbeat(record, event.heartbeatAt), effects: recorded };
  }
}

const nothing: readonly never[] = [];
const recorded: readonly ConnectionEffect<never>[] = [{ kind: 'save', change: null }];
/** The login that superseded the session has published its end. */
const superseded: readonly ConnectionEffect<never>[] = [
  { kind: 'save', change: null },
  { kind: 'close-previous', reason: 'replaced' },
];

type Login = Extract<ConnectionEvent<never>, { kind: 'login' }>;

function opened(
  { epoch }: ConnectionRecord,
  { sessionId: session, atMs, recovered }: Login,
  replaced: boolean,
): ConnectionEffect<never> {
  const change = { kind: 'opened', session, epoch: epoch + 1, atMs, replaced } as const;
  return { kind: 'save', change: recovered === true ? { ...change, recovered } : change };
}

function closed<Reason extends string>(
  { epoch }: ConnectionRecord,
  session: SessionId,
  { reason, atMs }: { readonly reason: Reason; readonly atMs: number },
): ConnectionEffect<Reason> {
  return { kind: 'save', change: { kind: 'closed', session, epoch, atMs, reason } };
}

function loggedIn(record: ConnectionRecord, { sessionId, atMs }: Login): ConnectionRecord {
  return {
    epoch: record.epoch + 1,
    lastLoginAt: wholeSeconds(atMs),
    lastHeartbeatAt: record.lastHeartbeatAt,
    lastOfflineAt: record.lastOfflineAt,
    openSession: sessionId,
  };
}

function ended(
  record: ConnectionRecord,
  { atMs, heartbeatAt }: { readonly atMs: number; readonly heartbeatAt: number },
): ConnectionRecord {
  return { ...withHeartbeat(record, heartbeatAt), lastOfflineAt: wholeSeconds(atMs), openSession: null };
}

function withHeartbeat(record: ConnectionRecord, heartbeatAt: number): ConnectionRecord {
  return heartbeatAt === 0 ? record : { ...record, lastHeartbeatAt: heartbeatAt };
}

function wholeSeconds(wallMs: number): number {
  return Math.floor(wallMs / 1000);
}
