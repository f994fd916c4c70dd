/**
 * The outcome of one wakeup, as a pure state machine: `writing` the packet, `waiting` for the device's signal login, `doubtful`
 * after the carrying connection broke, `settled`. No store, no clock, no other wakeups: time comes in with the event, and saves
 * go out, to be performed in order.
 *
 * Invariants, checked by random walks:
 *  1. A wakeup is settled once; afterwards only a cause is added, once.
 *  2. The time of an event decides, not the time of its processing: a login after the deadline completes nothing, even if the
 *     deadline has not been processed yet.
 *  3. Durations come from the monotonic clock and are never negative; a step of the wall clock affects stamps only.
 *  4. A wakeup that was answered 50402 never fails and publishes no expiry: a login completes it, or it stays unknown.
 *
 * Source: events.md; decisions.md, Wakeup.
 */
import type { RequestId, SessionId, WakeupId } from '../ids.ts';
import { wakeupResetGraceMs, wakeupResetMsMax, wakeupToOnlineMsMax } from '../limits.ts';
import type { WakeCause } from '../signal.ts';
import type { WakeupRecord, WakeupRequest } from '../wakeup.ts';
import { acceptedSave, completedSave, ranOutSave, unknownSave, type WakeupSave } from './wakeup-save.ts';

/** Every `nowMs`, `begunMs`, `sinceMs` and `deadlineMs` is monotonic; every `…AtMs` is wall time. */
interface Login {
  readonly sessionId: SessionId;
  readonly nowMs: number;
  readonly atMs: number;
}

interface Writing {
  readonly kind: 'writing';
  readonly request: WakeupRequest;
  /** Lowercase hex. */
  readonly packet: string;
  readonly sleepEpoch: number;
  /** The device's signal was online when the write began. */
  readonly isOnline: boolean;
  readonly begunMs: number;
  readonly begunAtMs: number;
  /** The first signal login since the write began. */
  readonly login: Login | null;
}

interface Pending {
  readonly kind: 'waiting' | 'doubtful';
  readonly requestId: RequestId;
  readonly record: WakeupRecord;
  /** Time of the accepted write, or of its beginning when it was answered 50402. */
  readonly sinceMs: number;
  /** A login before it completes the wakeup. */
  readonly deadlineMs: number;
}

interface Settled {
  readonly kind: 'settled';
  readonly requestId: RequestId;
  readonly record: WakeupRecord;
  readonly sessionId: SessionId | null;
}

export type WakeupState = Writing | Pending | Settled;

export type WakeupEvent =
  | { readonly kind: 'written'; readonly id: WakeupId; readonly nowMs: number; readonly atMs: number }
  /** The write was answered 50402. */
  | { readonly kind: 'unknown'; readonly id: WakeupId }
  | ({ readonly kind: 'login' } & Login)
  /** The sleep session of this epoch ended with `reset`. */
  | { readonly kind: 'reset'; readonly epoch: number; readonly nowMs: number }
  | { readonly kind: 'time'; readonly nowMs: number; readonly atMs: number }
  | { readonly kind: 'reported'; readonly cause: WakeCause };

type Of<Kind extends WakeupEvent['kind']> = Extract<WakeupEvent, { kind: Kind }>;

export interface WakeupStep {
  readonly state: WakeupState;
  readonly saves: readonly WakeupSave[];
}

/** Resumes a stored wakeup of an earlier process: its waiting time is known by the wall clock only. */
export function resumeWakeup(
  requestId: RequestId,
  record: WakeupRecord,
  nowMs: number,
  wallMs: number,
): Pending {
  const waitedMs = wallMs - (record.acceptedAtMs ?? record.begunAtMs);
  const sinceMs = nowMs - Math.min(Math.max(0, waitedMs), wakeupToOnlineMsMax);
  return { kind: 'waiting', requestId, record, sinceMs, deadlineMs: sinceMs + wakeupToOnlineMsMax };
}

export function reduceWakeup(state: WakeupState, event: WakeupEvent): WakeupStep {
  switch (state.kind) {
    case 'writing':
      return reduceWriting(state, event);
    case 'waiting':
    case 'doubtful':
      return reduceAwaited(state, event);
    case 'settled':
      return reduceSettled(state, event);
  }
}

/** A reset changes nothing here: a write whose socket broke first is answered as refused. */
function reduceWriting(state: Writing, event: WakeupEvent): WakeupStep {
  switch (event.kind) {
    case 'written':
      return accept(state, event);
    case 'unknown':
      return doubt(state, event);
    case 'login':
      return { state: state.login === null ? { ...state, login: event } : state, saves: nothing };
    case 'reset':
    case 'time':
    case 'reported':
      return { state, saves: nothing };
  }
}

function accept(state: Writing, { id, nowMs, atMs }: Of<'written'>): WakeupStep {
  const { request, isOnline, login } = state;
  const accepted = acceptedSave(state, id, atMs);
  const { requestId } = request;
  if (!isOnline && login === null)
    return { state: waiting(requestId, accepted.record, nowMs), saves: [accepted] };
  const completed = completedSave(requestId, accepted.record, atMs, 0, isOnline);
  const sessionId = isOnline || login === null ? null : login.sessionId;
  return {
    state: { kind: 'settled', requestId, record: completed.record, sessionId },
    saves: [accepted, completed],
  };
}

/** It is unknown whether the packet was sent; a login shows that it was, or that it was not needed. */
function doubt(state: Writing, { id }: Of<'unknown'>): WakeupStep {
  const unknown = unknownSave(state, id);
  const pending = waiting(state.request.requestId, unknown.record, state.begunMs);
  return state.login === null ? { state: pending, saves: [unknown] } : loggedIn(pending, state.login);
}

function reduceAwaited(state: Pending, event: WakeupEvent): WakeupStep {
  switch (event.kind) {
    case 'login':
      return event.nowMs < state.deadlineMs ? loggedIn(state, event) : runOut(state, event);
    case 'reset':
      return { state: isFailedBy(state, event) ? doubtful(state, event.nowMs) : state, saves: nothing };
    case 'time':
      return event.nowMs < state.deadlineMs ? { state, saves: nothing } : runOut(state, event);
    case 'written':
    case 'unknown':
    case 'reported':
      return { state, saves: nothing };
  }
}

/** Only the first cause is stored: later reports are not worth a write each. */
function reduceSettled(state: Settled, event: WakeupEvent): WakeupStep {
  if (event.kind !== 'reported' || state.record.status !== 'completed' || state.record.cause !== null)
    return { state, saves: nothing };
  const record = { ...state.record, cause: event.cause };
  return { state: { ...state, record }, saves: [{ record, event: null }] };
}

function loggedIn({ requestId, record, sinceMs }: Pending, { sessionId, nowMs, atMs }: Login): WakeupStep {
  const wokeAfterMs = Math.max(0, Math.round(nowMs - sinceMs));
  return finalStep(requestId, completedSave(requestId, record, atMs, wokeAfterMs, false), sessionId);
}

/** True for the first reset of the carrying session, soon after the accepted write. */
function isFailedBy({ kind, record, sinceMs }: Pending, { epoch, nowMs }: Of<'reset'>): boolean {
  const isCarrier = record.acceptedAtMs !== null && record.sleepEpoch === epoch;
  return kind === 'waiting' && isCarrier && nowMs - sinceMs < wakeupResetMsMax;
}

function doubtful(state: Pending, nowMs: number): Pending {
  return { ...state, kind: 'doubtful', deadlineMs: nowMs + wakeupResetGraceMs };
}

function runOut({ kind, requestId, record }: Pending, { atMs }: { readonly atMs: number }): WakeupStep {
  return finalStep(requestId, ranOutSave(requestId, record, kind === 'doubtful', atMs), null);
}

function finalStep(requestId: RequestId, save: WakeupSave, sessionId: SessionId | null): WakeupStep {
  return { state: { kind: 'settled', requestId, record: save.record, sessionId }, saves: [save] };
}

function waiting(requestId: RequestId, record: WakeupRecord, sinceMs: number): Pending {
  return { kind: 'waiting', requestId, record, sinceMs, deadlineMs: sinceMs + wakeupToOnlineMsMax };
}

const nothing: readonly never[] = [];
