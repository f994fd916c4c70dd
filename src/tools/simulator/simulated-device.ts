/**
 * Pure state machine of a simulated device, whole or a module alone. It has no sockets and no clock: events carry time and
 * random numbers in, and effects, performed in order, carry work out. The low-power module logs in while the controller is
 * still online; the controller then leaves. The module stays connected until the controller is online again.
 * Source: sleep-wire.md; signal-wire.md, welcome.
 */
import type { WakeCause } from '../../model/signal.ts';
import type { SleepRetry } from '../../model/product-defaults.ts';
import type { SleepAdvice } from '../../protocol/signal/server-message.ts';

/** `offline`: waits before a restart. `booting`: the controller starts. */
export type DeviceStage = 'offline' | 'booting' | 'signing-in' | 'online' | 'falling-asleep' | 'asleep';

export interface DeviceState {
  readonly stage: DeviceStage;
  /** Monotonic milliseconds of the `due` event; Infinity: waits for another event. */
  readonly untilMs: number;
  /** Consecutive failed logins of either kind. */
  readonly failures: number;
  /** Wake cause to report at the next login; null: switched on, or signal lost. */
  readonly cause: WakeCause | null;
  /** Monotonic milliseconds of the wake packet behind `cause`; null: none. */
  readonly wokenMs: number | null;
  /** Advice of the latest login; null: none yet. */
  readonly advice: SleepAdvice | null;
}

export type DeviceEvent =
  | { readonly kind: 'signed-in'; readonly advice: SleepAdvice }
  | {
      readonly kind:
        'due' | 'sign-in-failed' | 'signal-lost' | 'fell-asleep' | 'sleep-failed' | 'sleep-lost' | 'woken';
    };

export type DeviceEffect =
  | { readonly kind: 'sign-in' | 'leave-signal' | 'leave-sleep' }
  | { readonly kind: 'report-wake'; readonly cause: WakeCause }
  | { readonly kind: 'log-in-to-sleep'; readonly server: string };

export interface DeviceHabits {
  /** Time from the wake packet to the login, ±25 %. */
  readonly bootMs: number;
  readonly onlineMs: number;
}

export interface Circumstances {
  readonly nowMs: number;
  readonly random: number;
  readonly habits: DeviceHabits;
}

export interface DeviceStep {
  readonly state: DeviceState;
  readonly effects: readonly DeviceEffect[];
}

const attemptMsMax = 15_000;

function switchedOff(untilMs: number): DeviceState {
  return { stage: 'offline', untilMs, failures: 0, cause: null, wokenMs: null, advice: null };
}

export interface DeviceLife {
  /** The initial state; switched on at `untilMs`. */
  begin(untilMs: number): DeviceState;
  /** Events without a meaning in the current stage change nothing. */
  reduce(state: DeviceState, event: DeviceEvent, now: Circumstances): DeviceStep;
}

export const wholeDevice: DeviceLife = { begin: switchedOff, reduce: reduceDevice };

/** A module alone: logs in, stays asleep despite wake packets, and reconnects when its connection is lost. */
export function moduleAlone(server: string, heartbeatSeconds: number, retry = usualRetry): DeviceLife {
  const advice: SleepAdvice = {
    servers: [server],
    heartbeat_s: heartbeatSeconds,
    heartbeat_bytes: 64,
    wake_pattern: '',
    wakeup_packet: '',
    retry,
  };
  return { begin: (untilMs) => ({ ...switchedOff(untilMs), advice }), reduce: reduceModule };
}

function reduceModule(state: DeviceState, event: DeviceEvent, now: Circumstances): DeviceStep {
  switch (event.kind) {
    case 'due':
      if (state.stage === 'offline') return { state: enter(state, 'booting', now.nowMs), effects: [] };
      return {
        state: enter(state, 'falling-asleep', Infinity),
        effects: [{ kind: 'log-in-to-sleep', server: state.advice?.servers[0] ?? '' }],
      };
    case 'fell-asleep':
      return { state: enter({ ...state, failures: 0 }, 'asleep', Infinity), effects: [] };
    case 'sleep-failed':
    case 'sleep-lost':
      return waitToRetry(state, 'offline', now);
    default:
      return unmoved(state);
  }
}

function reduceDevice(state: DeviceState, event: DeviceEvent, now: Circumstances): DeviceStep {
  switch (state.stage) {
    case 'offline':
      return event.kind === 'due' ? boot(state, now) : unmoved(state);
    case 'booting':
      if (event.kind !== 'due') return unmoved(state);
      return { state: enter(state, 'signing-in', now.nowMs + attemptMsMax), effects: [{ kind: 'sign-in' }] };
    case 'signing-in':
      return reduceSigningIn(state, event, now);
    case 'online':
      return reduceOnline(state, event, now);
    case 'falling-asleep':
      return reduceFallingAsleep(state, event, now);
    case 'asleep':
      return reduceAsleep(state, event, now);
  }
}

function reduceSigningIn(state: DeviceState, event: DeviceEvent, now: Circumstances): DeviceStep {
  switch (event.kind) {
    case 'signed-in': {
      const { cause } = state;
      const awake: DeviceState = { ...state, failures: 0, cause: null, wokenMs: null, advice: event.advice };
      const report: DeviceEffect[] = cause === null ? [] : [{ kind: 'report-wake', cause }];
      return {
        state: enter(awake, 'online', now.nowMs + now.habits.onlineMs),
        effects: [...report, { kind: 'leave-sleep' }],
      };
    }
    case 'sign-in-failed':
      return waitToRetry(state, 'offline', now);
    case 'due':
      return waitToRetry(state, 'offline', now, [{ kind: 'leave-signal' }]);
    default:
      return unmoved(state);
  }
}

function reduceOnline(state: DeviceState, event: DeviceEvent, now: Circumstances): DeviceStep {
  if (event.kind === 'signal-lost') return waitToRetry(state, 'offline', now);
  const { advice, failures } = state;
  const server = advice?.servers[failures % advice.servers.length];
  if (event.kind !== 'due' || server === undefined) return unmoved(state);
  return {
    state: enter(state, 'falling-asleep', now.nowMs + attemptMsMax),
    effects: [{ kind: 'log-in-to-sleep', server }],
  };
}

function reduceFallingAsleep(state: DeviceState, event: DeviceEvent, now: Circumstances): DeviceStep {
  switch (event.kind) {
    case 'fell-asleep':
      return {
        state: enter({ ...state, failures: 0 }, 'asleep', Infinity),
        effects: [{ kind: 'leave-signal' }],
      };
    case 'signal-lost':
      return waitToRetry(state, 'offline', now, [{ kind: 'leave-sleep' }]);
    case 'sleep-failed':
      return waitToRetry(state, 'online', now);
    case 'due':
      return waitToRetry(state, 'online', now, [{ kind: 'leave-sleep' }]);
    default:
      return unmoved(state);
  }
}

function reduceAsleep(state: DeviceState, event: DeviceEvent, now: Circumstances): DeviceStep {
  if (event.kind === 'woken') return boot({ ...state, cause: 'remote', wokenMs: now.nowMs }, now);
  if (event.kind === 'sleep-lost') return waitToRetry({ ...state, cause: 'abnormal' }, 'offline', now);
  return unmoved(state);
}

function boot(state: DeviceState, { nowMs, random, habits }: Circumstances): DeviceStep {
  return { state: enter(state, 'booting', nowMs + habits.bootMs * (0.75 + random / 2)), effects: [] };
}

/** Waits for the advised backoff: offline, or, after a failed sleep login, online until the next server is tried. */
function waitToRetry(
  state: DeviceState,
  stage: 'offline' | 'online',
  { nowMs, random }: Circumstances,
  effects: readonly DeviceEffect[] = [],
): DeviceStep {
  const failures = state.failures + 1;
  const waitMs = retryDelayMs(failures, random, state.advice?.retry);
  return { state: enter({ ...state, failures }, stage, nowMs + waitMs), effects };
}

function enter(state: DeviceState, stage: DeviceStage, untilMs: number): DeviceState {
  return { ...state, stage, untilMs };
}

function unmoved(state: DeviceState): DeviceStep {
  return { state, effects: [] };
}

/** Before the first welcome: the server's defaults. */
const usualRetry: SleepRetry = { min_s: 2, max_s: 300, jitter: 0.5 };

/**
 * Milliseconds before the next attempt after `failures` (from 1) consecutive ones. Doubles up to the maximum; jitter varies it
 * by the share `jitter` in both directions, the maximum too, so that devices that were disconnected together spread out.
 * `random`: 0 to below 1. Source: docs/sleep-protocol.md, What to do on each.
 */
export function retryDelayMs(failures: number, random: number, advice: SleepRetry = usualRetry): number {
  const { min_s: minS, max_s: maxS, jitter } = advice;
  const doubled = Math.min(maxS, minS * 2 ** Math.min(failures - 1, 30));
  return doubled * (1 + jitter * (2 * random - 1)) * 1000;
}
