/**
 * The sleep session of one device as a pure machine: what is so, what happened, what is so now, and what has
 * to be done about it. No sockets, no store, no clock: time comes in with the event, work goes out as effects,
 * to be performed in their order.
 *
 * Invariants, each with a test:
 *  1. An epoch is given once: every login takes the next one.
 *  2. An event that speaks of another epoch than the open one changes nothing.
 *  3. Every end but a replacement sets lastOfflineAt, once.
 *  4. A login is not a heartbeat.
 *
 * Source: decisions.md, Connectivity and Wakeup; sleep-wire.md, Sessions.
 */
import type { ConnectionRecord } from '../domain/connectivity.ts';
import type { SessionId } from '../domain/ids.ts';
import type { SleepEndReason, WakeMode } from '../domain/sleep.ts';

export type SleepState =
  | { readonly kind: 'offline'; readonly record: ConnectionRecord }
  | { readonly kind: 'asleep'; readonly record: ConnectionRecord; readonly wakeMode: WakeMode };

/** Times are whole Unix seconds; a `heartbeatAt` of 0 means the connection saw none. */
export type SleepEvent =
  | {
      readonly kind: 'login';
      readonly sessionId: SessionId;
      readonly wakeMode: WakeMode;
      readonly at: number;
      /** Of the connection this one may replace. */
      readonly heartbeatAt: number;
    }
  | { readonly kind: 'ended'; readonly epoch: number; readonly at: number; readonly heartbeatAt: number }
  | {
      readonly kind: 'expel';
      readonly reason: SleepEndReason;
      readonly at: number;
      readonly heartbeatAt: number;
    }
  | { readonly kind: 'note-heartbeat'; readonly heartbeatAt: number }
  | { readonly kind: 'wake'; readonly carriesCustomData: boolean };

export type SleepEffect =
  /** Keep this record. */
  | { readonly kind: 'save' }
  /** Close the connection of the session that was open before this event. */
  | { readonly kind: 'close-previous'; readonly reason: SleepEndReason }
  /** The device holds nothing here any more. */
  | { readonly kind: 'release' }
  | { readonly kind: 'write-wake' }
  /** 40412: no session. 40902: the module can't be woken this way. */
  | { readonly kind: 'refuse-wake'; readonly code: 40412 | 40902 };

export interface SleepStep {
  readonly state: SleepState;
  readonly effects: readonly SleepEffect[];
}

const save: SleepEffect = { kind: 'save' };
const nothing: readonly SleepEffect[] = [];
const keep: readonly SleepEffect[] = [save];
const takeover: readonly SleepEffect[] = [save, { kind: 'close-previous', reason: 'replaced' }];
const gone: readonly SleepEffect[] = [save, { kind: 'release' }];
const write: readonly SleepEffect[] = [{ kind: 'write-wake' }];
const refuseAbsent: readonly SleepEffect[] = [{ kind: 'refuse-wake', code: 40412 }];
const refuseModule: readonly SleepEffect[] = [{ kind: 'refuse-wake', code: 40902 }];

export function offline(record: ConnectionRecord): SleepState {
  return { kind: 'offline', record };
}

export function reduceSleep(state: SleepState, event: SleepEvent): SleepStep {
  return state.kind === 'offline' ? reduceOffline(state, event) : reduceAsleep(state, event);
}

type Offline = Extract<SleepState, { kind: 'offline' }>;
type Asleep = Extract<SleepState, { kind: 'asleep' }>;

function reduceOffline(state: Offline, event: SleepEvent): SleepStep {
  switch (event.kind) {
    case 'login':
      return { state: loggedIn(state.record, event), effects: keep };
    case 'wake':
      return { state, effects: refuseAbsent };
    case 'ended':
    case 'expel':
    case 'note-heartbeat':
      return { state, effects: nothing };
  }
}

function reduceAsleep(state: Asleep, event: SleepEvent): SleepStep {
  switch (event.kind) {
    case 'login':
      return { state: loggedIn(heard(state.record, event.heartbeatAt), event), effects: takeover };
    case 'ended':
      if (event.epoch !== state.record.epoch) return { state, effects: nothing };
      return { state: ended(state.record, event.at, event.heartbeatAt), effects: gone };
    case 'expel':
      return {
        state: ended(state.record, event.at, event.heartbeatAt),
        effects: [save, { kind: 'close-previous', reason: event.reason }, { kind: 'release' }],
      };
    case 'note-heartbeat':
      if (event.heartbeatAt === 0 || event.heartbeatAt === state.record.lastHeartbeatAt)
        return { state, effects: nothing };
      return { state: { ...state, record: heard(state.record, event.heartbeatAt) }, effects: keep };
    case 'wake':
      return { state, effects: wakeEffects(state.wakeMode, event.carriesCustomData) };
  }
}

function wakeEffects(mode: WakeMode, carriesCustomData: boolean): readonly SleepEffect[] {
  if (mode === 'none' || (mode === 'fixed' && carriesCustomData)) return refuseModule;
  return write;
}

function loggedIn(record: ConnectionRecord, login: Extract<SleepEvent, { kind: 'login' }>): SleepState {
  return {
    kind: 'asleep',
    wakeMode: login.wakeMode,
    record: {
      epoch: record.epoch + 1,
      lastLoginAt: login.at,
      lastHeartbeatAt: record.lastHeartbeatAt,
      lastOfflineAt: record.lastOfflineAt,
      openSession: login.sessionId,
    },
  };
}

function ended(record: ConnectionRecord, at: number, heartbeatAt: number): SleepState {
  return offline({ ...heard(record, heartbeatAt), lastOfflineAt: at, openSession: null });
}

function heard(record: ConnectionRecord, heartbeatAt: number): ConnectionRecord {
  return heartbeatAt === 0 ? record : { ...record, lastHeartbeatAt: heartbeatAt };
}
