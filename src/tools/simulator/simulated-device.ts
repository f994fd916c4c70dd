/**
 * One simulated device as a pure machine: a controller that starts, signs in, falls asleep and is woken, or a module
 * alone, with what has to be done about each event. No sockets and no clock: time and chance come in, work goes out as effects, to be
 * performed in their order. The low-power module logs in while the controller is still awake, and the controller
 * leaves only then; the module keeps its connection until the controller is online again.
 * Source: sleep-wire.md; signal-wire.md, welcome.
 */
import type { WakeCause } from '../../model/signal.ts';
import type { SleepRetry } from '../../model/product-defaults.ts';
import type { SleepAdvice } from '../../protocol/signal/server-message.ts';

/** `offline`: waits before it starts again. `booting`: the processor starts. */
export type DeviceStage = 'offline' | 'booting' | 'signing-in' | 'online' | 'falling-asleep' | 'asleep';

export interface DeviceState {
  readonly stage: DeviceStage;
  /** Monotonic milliseconds at which `due` happens; Infinity: it waits for others. */
  readonly untilMs: number;
  /** Attempts to sign in or to fall asleep that failed in a row. */
  readonly failures: number;
  /** What woke the controller since it was last online; null: it was switched on, or lost its signal. */
  readonly cause: WakeCause | null;
  /** Monotonic milliseconds of the wake packet that `cause` speaks of; null: none. */
  readonly wokenMs: number | null;
  /** Of the latest sign-in; null: none yet. */
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
  /** From the wake packet to the sign-in, a quarter more or less. */
  readonly bootMs: number;
  /** How long a controller is online before it sleeps. */
  readonly onlineMs: number;
}

export interface Circumstances {
  readonly nowMs: number;
  /** 0 to below 1. */
  readonly random: number;
  readonly habits: DeviceHabits;
}

export interface DeviceStep {
  readonly state: DeviceState;
  readonly effects: readonly DeviceEffect[];
}

/** A sign-in or a sleep login that takes longer has failed. */
const attemptMsMax = 15_000;

function switchedOff(untilMs: number): DeviceState {
  return { stage: 'offline', untilMs, failures: 0, cause: null, wokenMs: null, advice: null };
}

/** A way to live: whole devices, or modules without a controller. */
export interface DeviceLife {
  /** Switched on at that moment. */
  begin(untilMs: number): DeviceState;
  /** An event that a stage has no use for changes nothing. */
  reduce(state: DeviceState, event: DeviceEvent, now: Circumstances): DeviceStep;
}

export const wholeDevice: DeviceLife = { begin: switchedOff, reduce: reduceDevice };

/** A module alone: it logs in when its turn comes, sleeps whatever comes, and comes back when its connection is lost. */
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

/** Waits as it was advised: off, or, where it can't let its module sleep, online, to try the next server then. */
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

/** For a device that was told nothing yet: what the server tells all of them. */
const usualRetry: SleepRetry = { min_s: 2, max_s: 300, jitter: 0.5 };

/**
 * Milliseconds before the next attempt after `failures` (from 1) in a row. Doubles each time up to the longest, and is by chance
 * up to `jitter` of itself shorter or longer, the longest too, so that what was lost together does not come back together.
 * `random`: 0 to below 1. Source: docs/sleep-protocol.md, What to do on each.
 */
export function retryDelayMs(failures: number, random: number, advice: SleepRetry = usualRetry): number {
  const { min_s: minS, max_s: maxS, jitter } = advice;
  const doubled = Math.min(maxS, minS * 2 ** Math.min(failures - 1, 30));
  return doubled * (1 + jitter * (2 * random - 1)) * 1000;
}
