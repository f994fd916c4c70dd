/**
 * Random walks over the watch against a naive model that keeps every login and reset, and finds the outcome of a wakeup by
 * searching all of them at each query.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WakeupWatch } from '../../src/core/wakeups/wakeup-watch.ts';
import type { WatchedWakeup } from '../../src/core/wakeups/watched-wakeups.ts';
import type { Cancel } from '../../src/lib/clock.ts';
import type { DeviceId, RequestId, SessionId } from '../../src/model/ids.ts';
import type { WakeCause } from '../../src/model/signal.ts';
import type { WakeupStatus } from '../../src/model/wakeup.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { FakeTelemetry, FakeWakeupRecords, testApp } from '../support/fakes.ts';

const answers = ['written', 'unknown', 'refused'] as const;
type Step =
  | { kind: 'begin'; device: number; retries: boolean }
  | { kind: 'answer'; which: number; answer: (typeof answers)[number] }
  | { kind: 'signal-login' | 'signal-close' | 'sleep-login' | 'sleep-reset' | 'sleep-close'; device: number }
  | { kind: 'report'; device: number; which: number | null }
  | { kind: 'advance' | 'step-wall'; ms: number }
  | { kind: 'restart' };

const device = fc.integer({ min: 0, max: 1 });
const which = fc.nat({ max: 7 });
const edges = [0, 1, 250, 4900, 5000, 5100, 9900, 10_000, 10_100, 59_900, 60_000, 60_500];
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('begin'), device, retries: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('answer'),
      which,
      answer: fc.constantFrom(...answers, 'written', 'written'),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'signal-login',
        'signal-close',
        'signal-close',
        'sleep-login',
        'sleep-reset',
        'sleep-close',
      ),
      device,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('report'), device, which: fc.option(which) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('advance'),
      ms: fc.oneof(
        fc.constantFrom(...edges),
        fc.integer({ min: 0, max: 6000 }),
        fc.integer({ min: 0, max: 500 }),
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('step-wall'), ms: fc.integer({ min: -90_000, max: 90_000 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart') }) },
);

/** Two ticks of the watch. */
const lateMs = 500;

interface Past {
  readonly kind: 'login' | 'reset';
  readonly device: number;
  readonly epoch: number;
  readonly session: string;
  readonly ms: number;
}

interface Wakeup {
  readonly requestId: RequestId;
  readonly device: number;
  readonly epoch: number;
  readonly wasOnline: boolean;
  readonly begunMs: number;
  readonly begunIndex: number;
  watched: WatchedWakeup;
  answer: 'written' | 'unknown' | null;
  sinceMs: number;
  sinceWallMs: number;
  /** Earlier facts are known to be irrelevant. */
  from: number;
}

interface Outcome {
  readonly status: WakeupStatus;
  readonly wokeAfterMs: number | null;
  readonly session: string | null;
  /** Time of the outcome; Infinity: none yet. */
  readonly atMs: number;
}

/** The outcome by the words of the specification, from all past facts. */
function outcomeOf(wakeup: Wakeup, past: readonly Past[], nowMs: number): Outcome {
  const { answer, sinceMs, device: of, epoch, wasOnline, begunIndex, from } = wakeup;
  if (answer === 'written' && wasOnline)
    return { status: 'completed', wokeAfterMs: 0, session: null, atMs: sinceMs };
  const mine = past.slice(from).filter((one) => one.device === of);
  const duringWrite = past.slice(begunIndex, from).find((one) => one.device === of && one.kind === 'login');
  if (duringWrite !== undefined) {
    const wokeAfterMs = answer === 'written' ? 0 : Math.round(duringWrite.ms - sinceMs);
    return { status: 'completed', wokeAfterMs, session: duringWrite.session, atMs: sinceMs };
  }
  const login = mine.find(({ kind }) => kind === 'login');
  const beforeLogin = login === undefined ? mine : mine.slice(0, mine.indexOf(login));
  const reset =
    answer === 'written'
      ? beforeLogin.find((one) => one.kind === 'reset' && one.epoch === epoch && one.ms - sinceMs < 10_000)
      : undefined;
  const endMs = reset === undefined ? sinceMs + 60_000 : reset.ms + 5000;
  if (login !== undefined && login.ms < endMs) {
    const wokeAfterMs = Math.round(login.ms - sinceMs);
    return { status: 'completed', wokeAfterMs, session: login.session, atMs: login.ms };
  }
  const runOut = reset === undefined ? 'expired' : 'failed';
  if (Math.min(nowMs, login?.ms ?? nowMs) < endMs && nowMs < endMs)
    return {
      status: answer === 'written' ? 'accepted' : 'unknown',
      wokeAfterMs: null,
      session: null,
      atMs: Infinity,
    };
  return { status: answer === 'written' ? runOut : 'unknown', wokeAfterMs: null, session: null, atMs: endMs };
}

class Walk {
  readonly clock = new DrivenClock();
  readonly records = new FakeWakeupRecords();
  readonly telemetry = new FakeTelemetry();
  readonly past: Past[] = [];
  readonly writing: Wakeup[] = [];
  /** Several wakeups may have the same request id. */
  readonly answered: Wakeup[] = [];
  readonly settled = new Map<Wakeup, Outcome>();
  readonly causes = new Map<Wakeup, WakeCause>();
  readonly sleepEpochs = [1, 1];
  readonly sleeps = [true, true];
  readonly sessions: (string | null)[] = [null, null];
  #watch = this.#newWatch();
  #stop: Cancel = this.#watch.start();
  #names = 0;

  runStep(taken: Step): void {
    const eventsBefore = this.records.events.length;
    switch (taken.kind) {
      case 'begin':
        this.#begin(taken.device, taken.retries);
        break;
      case 'answer':
        this.#answer(taken.which, taken.answer);
        break;
      case 'signal-login':
        this.#signalLogin(taken.device);
        break;
      case 'signal-close':
        this.#signalClose(taken.device);
        break;
      case 'sleep-login':
        this.#sleepLogin(taken.device);
        break;
      case 'sleep-reset':
      case 'sleep-close':
        this.#sleepEnd(taken.device, taken.kind === 'sleep-reset');
        break;
      case 'report':
        this.#report(taken.device, taken.which);
        break;
      case 'advance':
        this.clock.advance(taken.ms);
        break;
      case 'step-wall':
        this.clock.stepWall(taken.ms);
        break;
      case 'restart':
        this.#restart();
        break;
    }
    this.#compare(eventsBefore);
  }

  #begin(of: number, retries: boolean): void {
    if (this.sleeps[of] !== true) this.#sleepLogin(of);
    const retried = retries ? this.answered.at(-1) : undefined;
    const requestId = retried?.requestId ?? (`r-${(this.#names += 1)}` as RequestId);
    const wasOnline = this.sessions[of] !== null;
    const epoch = this.sleepEpochs[of] ?? 0;
    const request = {
      appId: testApp,
      deviceId: deviceId(of),
      customData: null,
      customDataText: null,
      requestId,
      signature: '',
      signatureExpiresMs: 0,
    };
    this.writing.push({
      requestId,
      device: of,
      epoch,
      wasOnline,
      begunMs: this.clock.monotonicMs(),
      begunIndex: this.past.length,
      watched: this.#watch.begin(request, epoch, wasOnline),
      answer: null,
      sinceMs: this.clock.monotonicMs(),
      sinceWallMs: this.clock.wallMs(),
      from: 0,
    });
  }

  #answer(index: number, answer: (typeof answers)[number]): void {
    const [wakeup] = this.writing.splice(index % Math.max(1, this.writing.length), 1);
    if (wakeup === undefined) return;
    const waitedMs = this.clock.monotonicMs() - wakeup.begunMs;
    // A write is answered within its deadline of a second, or has failed for good.
    if (answer === 'refused' || (answer === 'unknown' && waitedMs > 1000))
      return this.#watch.refused(wakeup.watched);
    wakeup.answer = answer;
    wakeup.from = this.past.length;
    if (answer === 'written') {
      wakeup.sinceMs = this.clock.monotonicMs();
      wakeup.sinceWallMs = this.clock.wallMs();
    }
    this.answered.push(wakeup);
    if (answer === 'written') this.#watch.written(wakeup.watched);
    else this.#watch.unknown(wakeup.watched);
  }

  #signalLogin(of: number): void {
    const session = `session-${this.past.length}`;
    this.past.push({ kind: 'login', device: of, epoch: 0, session, ms: this.clock.monotonicMs() });
    const replaced = this.sessions[of] !== null;
    this.sessions[of] = session;
    this.#watch.sessionChanged('signal', deviceId(of), {
      kind: 'opened',
      session: session as SessionId,
      epoch: 1,
      atMs: this.clock.wallMs(),
      replaced,
    });
  }

  #signalClose(of: number): void {
    const session = this.sessions[of];
    if (session === null || session === undefined) return;
    this.sessions[of] = null;
    for (const wakeup of this.answered) if (wakeup.device === of) this.#markUnreportable(wakeup);
    this.#watch.sessionChanged('signal', deviceId(of), {
      kind: 'closed',
      session: session as SessionId,
      epoch: 1,
      atMs: this.clock.wallMs(),
      reason: 'peer_closed',
    });
  }

  #sleepLogin(of: number): void {
    const replaced = this.sleeps[of] === true;
    const epoch = (this.sleepEpochs[of] ?? 0) + 1;
    this.sleepEpochs[of] = epoch;
    this.sleeps[of] = true;
    const about = { session: 's' as SessionId, epoch, atMs: this.clock.wallMs() };
    this.#watch.sessionChanged('sleep', deviceId(of), { kind: 'opened', ...about, replaced });
  }

  #sleepEnd(of: number, isReset: boolean): void {
    if (this.sleeps[of] !== true) return;
    const epoch = this.sleepEpochs[of] ?? 0;
    this.sleeps[of] = false;
    if (isReset)
      this.past.push({ kind: 'reset', device: of, epoch, session: '', ms: this.clock.monotonicMs() });
    const about = { session: 's' as SessionId, epoch, atMs: this.clock.wallMs() };
    const reason = isReset ? 'reset' : 'peer_closed';
    this.#watch.sessionChanged('sleep', deviceId(of), { kind: 'closed', ...about, reason });
  }

  readonly #unreportable = new Set<Wakeup>();

  #markUnreportable(wakeup: Wakeup): void {
    if (this.settled.has(wakeup)) this.#unreportable.add(wakeup);
  }

  #report(of: number, index: number | null): void {
    const session = this.sessions[of];
    if (session === null || session === undefined) return;
    const nowMs = this.clock.monotonicMs();
    const open = Array.from(this.settled).filter(
      ([wakeup, { status }]) =>
        status === 'completed' &&
        wakeup.device === of &&
        this.answered.includes(wakeup) &&
        !this.#unreportable.has(wakeup),
    );
    const named = index === null ? null : (open[index % Math.max(1, open.length)]?.[0].requestId ?? null);
    if (index !== null && named === null) return;
    for (const [wakeup, { atMs, session: by }] of open) {
      const isMeant = named === null ? by === session : wakeup.requestId === named;
      // Within two ticks after its deadline it may or may not be remembered.
      if (isMeant && nowMs < atMs + 60_000) this.causes.set(wakeup, 'remote');
      if (isMeant) this.#unreportable.add(wakeup);
    }
    this.#watch.reported(deviceId(of), session as SessionId, { cause: 'remote', requestId: named });
  }

  #restart(): void {
    this.#stop();
    this.writing.length = 0;
    this.sessions.fill(null);
    this.sleeps.fill(false);
    for (const wakeup of this.settled.keys()) this.#unreportable.add(wakeup);
    for (const wakeup of this.answered) {
      if (this.settled.has(wakeup)) continue;
      const waitedMs = Math.min(60_000, Math.max(0, this.clock.wallMs() - wakeup.sinceWallMs));
      wakeup.sinceMs = this.clock.monotonicMs() - waitedMs;
      wakeup.from = this.past.length;
      this.past.push({ kind: 'reset', device: -1, epoch: 0, session: '', ms: 0 });
    }
    const stored = Array.from(this.records.awaited(), ({ record }) => record.id);
    const place = ({ watched }: Wakeup): number => (watched.id === null ? -1 : stored.indexOf(watched.id));
    this.answered.sort((a, b) => place(a) - place(b));
    this.#watch = this.#newWatch();
    this.#watch.resume();
    this.#stop = this.#watch.start();
  }

  /** Compares the store with the model, and the events with the changes since, in order. */
  #compare(eventsBefore: number): void {
    const nowMs = this.clock.monotonicMs();
    const changed: string[] = [];
    for (const wakeup of this.answered) {
      const record = this.records.find({
        appId: testApp,
        requestId: wakeup.requestId,
        which: wakeup.watched.id,
      });
      assert.ok(record !== null);
      const before = this.settled.get(wakeup);
      const outcome = before ?? outcomeOf(wakeup, this.past, nowMs);
      const mayLag = before === undefined && nowMs < outcome.atMs + lateMs && record.isAwaited;
      if (mayLag && outcome.status !== 'completed') {
        assert.equal(record.status, wakeup.answer === 'written' ? 'accepted' : 'unknown');
        continue;
      }
      assert.equal(record.isAwaited, false);
      assert.equal(record.status, outcome.status);
      assert.equal(record.wokeAfterMs, outcome.wokeAfterMs);
      assert.equal(record.alreadyOnline, wakeup.answer === 'written' && wakeup.wasOnline);
      if (before === undefined) {
        this.settled.set(wakeup, outcome);
        if (record.status !== 'unknown') changed.push(`${record.status} ${wakeup.requestId}`);
      }
      if (!this.#unreportable.has(wakeup) || this.causes.has(wakeup))
        assert.equal(record.cause, this.causes.get(wakeup) ?? null);
    }
    const published = this.records.events
      .slice(eventsBefore)
      .filter(({ type }) => type !== 'device.wakeup.accepted')
      .map(
        ({ type, data }) =>
          `${type.slice('device.wakeup.'.length)} ${String('request_id' in data && data.request_id)}`,
      );
    // One step of the clock may complete several wakeups, in order of their deadlines; a login completes them in order of
    // acceptance.
    const byTime = published.some((line) => line.startsWith('expired') || line.startsWith('failed'));
    assert.deepEqual(byTime ? published.toSorted() : published, byTime ? changed.toSorted() : changed);
  }

  end(): void {
    this.runStep({ kind: 'advance', ms: 121_000 });
    for (const wakeup of this.writing.splice(0)) this.#watch.refused(wakeup.watched);
    assert.equal(this.#watch.size, 0, 'nothing is held for ever');
    this.#stop();
  }

  #newWatch(): WakeupWatch {
    const { clock, records, telemetry } = this;
    return new WakeupWatch({ clock, records, telemetry });
  }
}

function deviceId(of: number): DeviceId {
  return `D${of}` as DeviceId;
}

test('the watch agrees with a naive model on every walk', () => {
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 80, size: 'max' }), (steps) => {
      const walk = new Walk();
      for (const taken of steps) walk.runStep(taken);
      walk.end();
      for (const { status } of walk.settled.values()) seen.set(status, (seen.get(status) ?? 0) + 1);
      seen.set('reported', (seen.get('reported') ?? 0) + walk.causes.size);
    }),
    { numRuns: 3000 },
  );
  for (const what of ['completed', 'failed', 'expired', 'unknown', 'reported'])
    assert.ok((seen.get(what) ?? 0) > 100, `the walks reached ${what}`);
});
