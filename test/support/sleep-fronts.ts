/** Sleep ports for tests: a listener on real sockets, before sessions of test size, in one process or with something between. */
import type { Admission, SleepAdmissions, SleepConnection } from '../../src/core/ports/device-sessions.ts';
import { SleepListener } from '../../src/edge/listener.ts';
import type { SleepSettings } from '../../src/edge/settings.ts';
import { wakeupsWaitingMax } from '../../src/model/limits.ts';
import type { WakeWriteResult } from '../../src/model/sleep.ts';
import { deviceTickMs } from '../../src/lib/connections/device-connections.ts';
import type { DrivenClock } from './driven-clock.ts';
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
  /** Null: every answer comes in the turn of its question. */
  readonly answers: HeldAnswers | null;
  /** Lets what is under way between the listener and the sessions arrive. */
  settle(): Promise<void>;
  /** Moves the clock, and lets what that sends arrive on the way. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** `hold`: what the sessions answer from now on arrives after `release`. */
export interface HeldAnswers {
  hold(): void;
  release(): void;
}

/** Listens on a free port. */
export type MakeFront = (deps: FrontDeps, settings?: Partial<SleepSettings>) => Promise<SleepFront>;

/** Turns of the event loop in which everything that was sent inside this process has arrived. */
const settlingTurns = 8;

async function settle(): Promise<void> {
  for (let turn = 0; turn < settlingTurns; turn += 1) await nextTurn();
}

async function listen(
  { clock, telemetry, log }: FrontDeps,
  sessions: SleepAdmissions,
  settings: Partial<SleepSettings>,
): Promise<SleepListener> {
  const deps = { clock, sessions, telemetry, log, otherSockets: () => 0, isLent: false };
  const listener = new SleepListener({ ...sleepGatewayDefaults, ...settings }, deps);
  await listener.listen();
  return listener;
}

function front(clock: DrivenClock, listener: SleepListener, answers: HeldAnswers | null): SleepFront {
  return {
    listener,
    answers,
    settle,
    async pass(ms) {
      for (let left = ms; left > 0; left -= deviceTickMs) {
        clock.advance(Math.min(left, deviceTickMs));
        await settle();
      }
    },
    close: () => listener.close(),
  };
}

/** The sessions are those of this process. */
export const inProcess: MakeFront = async (deps, settings = {}) =>
  front(deps.clock, await listen(deps, deps.sessions, settings), null);

/** The sessions decide at once, and their answers are on the way for a turn, or for as long as they are held. */
export const answeredLater: MakeFront = async (deps, settings = {}) => {
  let released = Promise.resolve();
  let release = (): void => undefined;
  const decide = (...question: Parameters<FakeSleepSessions['admit']>): Admission => {
    try {
      return deps.sessions.admit(...question);
    } catch {
      return 'busy';
    }
  };
  const sessions: SleepAdmissions = {
    async admit(...question) {
      const admission = decide(...question);
      await Promise.all([released, nextTurn()]);
      return admission;
    },
    ended: (...end) => deps.sessions.ended(...end),
  };
  const answers = {
    hold: () => {
      released = new Promise((resolve) => {
        release = resolve;
      });
    },
    release: () => release(),
  };
  return front(deps.clock, await listen(deps, sessions, settings), answers);
};

/** Each with its name; the same tests pass with any of them. */
export const sleepFronts: readonly (readonly [string, MakeFront])[] = [['in process', inProcess]];

/** Wakes until the kernel takes no more for a peer that does not read; the first answer that waits for it, or null. */
export async function fillKernel(
  connection: SleepConnection,
): Promise<{ readonly answer: Promise<WakeWriteResult> } | null> {
  for (let made = 0; made < 2_000_000; made += wakeupsWaitingMax) {
    let answered = 0;
    const answers = Array.from({ length: wakeupsWaitingMax }, () => connection.wake(null));
    for (const answer of answers) void answer.then(() => (answered += 1));
    for (let turns = 0; turns < 100 && answered < answers.length; turns += 1) await nextTurn();
    const answer = answers[answered];
    if (answer !== undefined) return { answer };
  }
  return null;
}
