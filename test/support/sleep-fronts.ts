/** Sleep listeners for tests: on real sockets, in front of simulated sessions, in one process or through an edge link. */
import assert from 'node:assert/strict';
import type { Duplex } from 'node:stream';
import type { SleepAdmissions, SleepConnection } from '../../src/core/ports/device-sessions.ts';
import { EdgeEnd } from '../../src/edge/edge-end.ts';
import { EdgeGate } from '../../src/edge/edge-gate.ts';
import { SleepListener } from '../../src/edge/listener.ts';
import type { SleepSettings } from '../../src/edge/settings.ts';
import type { WakeWriteResult } from '../../src/model/sleep.ts';
import { deviceTickMs } from '../../src/lib/connections/device-connections.ts';
import { encodeLengthFrame, LengthFrameDecoder } from '../../src/lib/link/length-frame.ts';
import { LoopProgress } from '../../src/lib/loop-progress.ts';
import { linkMessageBytesMax, wakeupsWaitingMax } from '../../src/model/limits.ts';
import type { DrivenClock } from './driven-clock.ts';
import { DuplexPair } from './duplex-pair.ts';
import { nextTurn } from './event-loop.ts';
import type { FakeSleepSessions } from './fake-device-sessions.ts';
import type { FakeLog, FakeTelemetry } from './fakes.ts';
import { sleepGatewayDefaults } from './listener-defaults.ts';

export interface FrontDeps {
  readonly clock: DrivenClock;
  readonly sessions: FakeSleepSessions;
  readonly telemetry: FakeTelemetry;
  readonly log: FakeLog;
}

export interface SleepFront {
  readonly listener: SleepListener;
  /** The listener's side of the connection that logged in last. */
  connection(): SleepConnection;
  /** Null: every answer arrives in the turn of its question. */
  readonly answers: HeldAnswers | null;
  /** Resolves when pending messages between listener and sessions have arrived. */
  untilIdle(): Promise<void>;
  /** Advances the clock and delivers the messages that this sends. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** `withhold`: delays all later answers of the sessions until `release`. */
export interface HeldAnswers {
  withhold(): void;
  release(): void;
}

export type MakeFront = (deps: FrontDeps, settings?: Partial<SleepSettings>) => Promise<SleepFront>;

/** Turns of the event loop until everything sent in this process has arrived. */
const settlingTurns = 8;

async function untilIdle(): Promise<void> {
  for (let turn = 0; turn < settlingTurns; turn += 1) await nextTurn();
}

async function listen(
  { clock, telemetry, log }: FrontDeps,
  sessions: SleepAdmissions,
  settings: Partial<SleepSettings>,
): Promise<SleepListener> {
  const deps = { clock, sessions, telemetry, log, otherSockets: () => 0, port: 'own' as const };
  const listener = new SleepListener({ ...sleepGatewayDefaults, ...settings }, deps);
  await listener.listen();
  return listener;
}

async function pass(clock: DrivenClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= deviceTickMs) {
    clock.advance(Math.min(left, deviceTickMs));
    await untilIdle();
  }
}

const inProcess: MakeFront = async (deps, settings = {}) => {
  const { clock, sessions } = deps;
  const listener = await listen(deps, sessions, settings);
  return {
    listener,
    connection: () => sessions.connection(),
    answers: null,
    untilIdle,
    pass: (ms) => pass(clock, ms),
    close: () => listener.close(),
  };
};

/** Connects the listener and the sessions by an edge link; while answers are withheld, only heartbeats of the core pass. */
const throughEdge: MakeFront = async (deps, settings = {}) => {
  const { clock, sessions, telemetry, log } = deps;
  const progress = new LoopProgress(clock);
  const sleep = { ...sleepGatewayDefaults, ...settings };
  const gate = new EdgeGate(
    { sleep, socketPath: null, elsewhere: null },
    { clock, sessions, telemetry, log, progress, release: '2.0.0' },
  );
  const end = new EdgeEnd({
    clock,
    progress,
    identity: {
      name: 'edge-1',
      instance: 'instance-1',
      release: '2.0.0',
      pid: 1,
      address: sleep.listen,
      advertise: [],
      maxSessions: sleep.max_sessions,
    },
    onLinked: () => undefined,
    onEnd: (fault) => assert.equal(fault, null),
  });
  const pair = new DuplexPair();
  const answers = withholdFrames(pair.there);
  gate.accept(pair.here, true);
  end.attach(pair.there);
  let latest: SleepConnection | null = null;
  const admissions: SleepAdmissions = {
    admit(...question) {
      [, , latest] = question;
      return end.admit(...question);
    },
    ended: (...ended) => end.ended(...ended),
  };
  const listener = await listen(deps, admissions, settings);
  await untilIdle();
  return {
    listener,
    connection: () => latest ?? assert.fail('no module has logged in'),
    answers,
    untilIdle,
    pass: (ms) => pass(clock, ms),
    async close() {
      await listener.close();
      await Promise.all([gate.close(), end.end()]);
    },
  };
};

/** A heartbeat is a message with one byte after its head: a list with only a kind. */
const heartbeatBytes = 2;

function withholdFrames(stream: Duplex): HeldAnswers {
  const frames = new LengthFrameDecoder(linkMessageBytesMax);
  const push = stream.push.bind(stream);
  let held: Buffer[] | null = null;
  stream.push = (chunk: Buffer | null) => {
    if (chunk === null) return push(null);
    for (const step of frames.feed(chunk)) {
      assert.ok(step.kind === 'payload');
      if (held === null || step.payload.length === heartbeatBytes) push(encodeLengthFrame(step.payload));
      else held.push(encodeLengthFrame(step.payload));
    }
    return true;
  };
  return {
    withhold: () => void (held = []),
    release: () => {
      for (const frame of held ?? []) push(frame);
      held = null;
    },
  };
}

export interface SleepFrontKind {
  readonly name: string;
  readonly make: MakeFront;
  /** True: its answers can be withheld. */
  readonly answersLater: boolean;
}

/** The same tests run against each of them. */
export const sleepFronts: readonly SleepFrontKind[] = [
  { name: 'in process', make: inProcess, answersLater: false },
  { name: 'through an edge', make: throughEdge, answersLater: true },
];

/**
 * Wakes a peer that does not read until the kernel's send buffer is full. Resolves to the pending answer of the first wake that
 * waits, or null. `connection`: the listener's side.
 */
export async function fillKernel(
  connection: SleepConnection,
): Promise<{ readonly answer: Promise<WakeWriteResult> } | null> {
  for (let made = 0; made < 2_000_000; made += wakeupsWaitingMax) {
    let answered = 0;
    const answers = Array.from({ length: wakeupsWaitingMax }, () => connection.wake(null));
    for (const answer of answers) void answer.then(() => (answered += 1));
    await nextTurn();
    const answer = answers[answered];
    if (answer !== undefined) return { answer };
  }
  return null;
}
