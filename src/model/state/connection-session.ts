/**
 * One connection of one device, sleep or signal, as a pure machine: what is kept of it, what happened, what is kept
 * now, and what has to be done about it. No sockets, no store, no clock: time comes in with the event, work goes out
 * as effects, to be performed in their order. The record is the state: a session is open while it names one.
 *
 * Invariants, to which random walks hold it:
 *  1. An epoch is given once: every login takes the next one.
 *  2. An end that speaks of another session than the open one changes nothing.
 *  3. Every end but a replacement sets lastOfflineAt and is told once; a replacement is told as a login.
 *  4. A login is not a heartbeat.
 *  5. A session that a later login elsewhere has superseded closes as replaced; of another one nothing changes.
 *
 * Source: decisions.md, Connectivity; sleep-wire.md, Sessions; signal-wire.md; cluster.md, Ownership.
 */
import type { ConnectionRecord } from '../connectivity.ts';
import type { SessionId } from '../ids.ts';

/** `atMs`: wall milliseconds; `heartbeatAt`: Unix seconds of the connection's latest heartbeat, 0: it saw none. */
export type ConnectionEvent<Reason extends string> =
  | {
      readonly kind: 'login';
      readonly sessionId: SessionId;
      readonly atMs: number;
      /** Of the connection this one may replace. */
      readonly heartbeatAt: number;
      /** True: its session before had to be called lost, and it lives; else it is a login of the device's own. */
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
  | { readonly kind: 'note-heartbeat'; readonly heartbeatAt: number };

/** What backends and the server are told of. */
export type SessionChange<Reason extends string> =
  | {
      readonly kind: 'opened';
      readonly session: SessionId;
      readonly epoch: number;
      readonly atMs: number;
      readonly replaced: boolean;
      /** As in the event. */
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
  /** Keep this record, and tell of the change with it; null: there is nothing to tell. */
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
    case 'note-heartbeat':
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
        record: loggedIn(heard(record, event.heartbeatAt), event),
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
      return { record: { ...heard(record, event.heartbeatAt), openSession: null }, effects: superseded };
    case 'note-heartbeat':
      if (event.heartbeatAt === 0 || event.heartbeatAt === record.lastHeartbeatAt)
        return { record, effects: nothing };
      return { record: heard(record, event.heartbeatAt), effects: noted };
  }
}

const nothing: readonly never[] = [];
const noted: readonly ConnectionEffect<never>[] = [{ kind: 'save', change: null }];
/** Its end was told as the login that superseded it. */
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
  return { ...heard(record, heartbeatAt), lastOfflineAt: wholeSeconds(atMs), openSession: null };
}

function heard(record: ConnectionRecord, heartbeatAt: number): ConnectionRecord {
  return heartbeatAt === 0 ? record : { ...record, lastHeartbeatAt: heartbeatAt };
}

function wholeSeconds(wallMs: number): number {
  return Math.floor(wallMs / 1000);
}
