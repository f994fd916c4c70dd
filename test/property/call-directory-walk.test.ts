/**
 * Random walks of two devices' calls through a directory against a naive model: issuance; legs that connect, disconnect and are
 * replaced; reports over a network that reorders, repeats and loses them; frames, pings, time, drains and restarts. A failure
 * prints its seed and path: pass both to `fc.assert` to repeat it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CallDirectory } from '../../src/core/calls/call-directory.ts';
import type { CallFollower } from '../../src/core/calls/call-followers.ts';
import type { Cancel } from '../../src/lib/clock.ts';
import {
  callStates,
  isInCall,
  liveCallStates,
  type AliveSign,
  type CallEndReason,
  type CallRejection,
  type CallReport,
  type CallSession,
  type CallSide,
  type RejectionReason,
} from '../../src/model/call.ts';
import type { EventDraft } from '../../src/model/events.ts';
import type { DeviceId, SessionId, TokenId } from '../../src/model/ids.ts';
import { callMedia, callOrder, callRoom, legWords, progress, wordsOf } from '../support/call-scene.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { FakeCallLeg, FakeCallRecords, FakeTelemetry, otherApp, testApp } from '../support/fakes.ts';
import {
  isHeard,
  NaiveCallServer,
  type ServerCall,
  type Instant,
  type NaiveLeg,
  type Order,
} from './naive-calls.ts';

const devices = ['D1', 'D2'] as DeviceId[];
const rooms = ['a 1', 'a 2', 'a 3', 'a 4', 'a 5', 'b 1'];

/** `call` and `leg`: number of calls and legs made after the one meant; most steps concern the latest live ones. */
type Step =
  | ({ readonly what: 'issue' } & Omit<Order, 'key'>)
  | { readonly what: 'connect'; readonly side: CallSide; readonly call: number; readonly token: string }
  | { readonly what: 'leave'; readonly leg: number }
  /** `skips`: number of reports that the leg omits. */
  | { readonly what: 'send'; readonly leg: number; readonly skips: number }
  | { readonly what: 'see'; readonly leg: number; readonly by: AliveSign }
  /** Delivers one of the reports in transit; `stays`: it will be delivered once more. */
  | { readonly what: 'deliver'; readonly place: number; readonly stays: boolean }
  | { readonly what: 'lose'; readonly place: number }
  | { readonly what: 'end'; readonly call: number; readonly reason: CallEndReason }
  /** Rejected by its device's controller, or by another device's. */
  | {
      readonly what: 'reject';
      readonly call: number;
      readonly reason: RejectionReason;
      readonly isTheirs: boolean;
    }
  | { readonly what: 'advance' | 'step-wall'; readonly ms: number }
  | { readonly what: 'drain' }
  | { readonly what: 'restart'; readonly downMs: number };

const call = fc.constantFrom(0, 0, 0, 1, 1, 2, 3);
const leg = fc.constantFrom(0, 0, 0, 1, 1, 2, 3, 5, 8);
const side = fc.constantFrom<CallSide[]>('device', 'bridge', 'bridge');
const place = fc.nat({ max: 5 });
const edges = [1, 250, 499, 500, 5999, 6000, 14_999, 15_000, 34_999, 35_000, 59_999, 60_000, 61_000];
const steps: readonly (readonly [number, fc.Arbitrary<Step>])[] = [
  [
    8,
    fc.record({
      what: fc.constant('issue'),
      device: fc.constantFrom(...devices),
      room: fc.constantFrom(...rooms),
      media: fc.constantFrom('160', '160', '320'),
      timeoutS: fc.constantFrom(1, 10, 30, 30),
    }),
  ],
  [
    8,
    fc.record({ what: fc.constant('connect'), side, call, token: fc.constantFrom('a', 'b', 'c', 'd', 'e') }),
  ],
  [2, fc.record({ what: fc.constant('leave'), leg })],
  [10, fc.record({ what: fc.constant('send'), leg, skips: fc.constantFrom(0, 0, 0, 1, 2) })],
  [10, fc.record({ what: fc.constant('deliver'), place, stays: fc.boolean() })],
  [2, fc.record({ what: fc.constant('lose'), place })],
  [8, fc.record({ what: fc.constant('see'), leg, by: fc.constantFrom('media', 'ping') })],
  [1, fc.record({ what: fc.constant('end'), call, reason: fc.constantFrom('error', 'cancelled') })],
  [
    1,
    fc.record({
      what: fc.constant('reject'),
      call,
      reason: fc.constantFrom('rejected', 'busy'),
      isTheirs: fc.constantFrom(true, true, false),
    }),
  ],
  [6, fc.record({ what: fc.constant('advance'), ms: fc.nat({ max: 2000 }) })],
  [1, fc.record({ what: fc.constant('advance'), ms: fc.constantFrom(...edges) })],
  [1, fc.record({ what: fc.constant('step-wall'), ms: fc.integer({ min: -90_000, max: 90_000 }) })],
  [1, fc.record({ what: fc.constant('drain') })],
  [1, fc.record({ what: fc.constant('restart'), downMs: fc.nat({ max: 8000 }) })],
];
const step = fc.oneof(...steps.map(([weight, arbitrary]) => ({ weight, arbitrary })));

/** Reports of a leg of each side, in order. */
const stories: Record<CallSide, readonly CallReport[]> = {
  bridge: [
    progress('ringing'),
    progress('attempting'),
    progress('connected'),
    { kind: 'end', reason: 'hangup_phone' },
  ],
  device: [progress('attempting'), { kind: 'end', reason: 'hangup_device' }],
};

/** Two ticks of the wheel. */
const lateMs = 1000;
/** The longest lease: issued with a ring timeout of 30 s. */
const longestLeaseMs = 90_000;

class WalkLeg {
  readonly real = new FakeCallLeg();
  readonly naive: NaiveLeg;
  said = 0;

  constructor(naive: NaiveLeg) {
    this.naive = naive;
  }
}

/** The server and the model during a walk. Canaries override the members that are not private. */
class Walk implements CallFollower {
  readonly clock = new DrivenClock();
  readonly records = new FakeCallRecords();
  readonly telemetry = new FakeTelemetry();
  readonly naive = new NaiveCallServer();
  readonly ids = new Map<ServerCall, SessionId>();
  readonly legs: WalkLeg[] = [];
  readonly #onTheirWay: { readonly leg: WalkLeg; readonly report: CallReport }[] = [];
  readonly #heard: string[] = [];
  readonly #farthest = new Map<SessionId, number>();
  #keys = 0;
  directory = this.newDirectory();
  #stop: Cancel = this.directory.start();

  newDirectory(): CallDirectory {
    const directory = new CallDirectory(this);
    directory.follow(this);
    return directory;
  }

  issued({ state }: CallSession): void {
    assert.equal(state, 'issued');
  }

  changed(
    { sessionId }: CallSession,
    { from, state, reason }: Parameters<Required<CallFollower>['changed']>[1],
  ): void {
    const kind = state === 'ended' ? 'ended' : from === 'issued' ? 'started' : 'state';
    this.#heard.push(`${sessionId} ${kind} ${reason ?? state}`);
  }

  bridgeLost({ sessionId }: CallSession): void {
    assert.equal(this.directory.hasBridge(sessionId), false);
  }

  runStep(taken: Step): void {
    const now = this.#now();
    this.naive.reach(now);
    this.#perform(taken, now);
    this.naive.reach(this.#now());
    this.#compare();
  }

  /** Renewals stop. */
  end(): void {
    this.runStep({ what: 'advance', ms: longestLeaseMs + lateMs });
    assert.equal(this.directory.size, 0, 'its longest lease has ended every session');
    assert.equal(this.records.records.size, 0, 'and nothing is kept of them');
    this.#stop();
  }

  connect(id: SessionId, of: CallSide, token: string, real: FakeCallLeg): boolean {
    return of === 'device'
      ? this.directory.connectDevice(id, token as TokenId, real)
      : this.directory.connectBridge(id, real);
  }

  leave(id: SessionId, { real, naive }: WalkLeg): void {
    this.directory.disconnected(id, naive.side, real);
  }

  report(id: SessionId, { real, naive }: WalkLeg, report: CallReport): void {
    this.directory.report(id, naive.side, real, report);
  }

  see(id: SessionId, { real, naive }: WalkLeg, by: AliveSign): void {
    this.directory.alive(id, naive.side, real, by);
  }

  reject(by: DeviceId, rejection: CallRejection): boolean {
    return this.directory.reject(by, rejection);
  }

  drain(): void {
    this.directory.drain();
  }

  /** The process dies; after `downMs` another one adopts the calls in the store. */
  restart(downMs: number): void {
    this.#stop();
    this.clock.advance(downMs);
    this.directory = this.newDirectory();
    this.directory.resume();
    this.#stop = this.directory.start();
  }

  idOf(one: ServerCall): SessionId {
    const id = this.ids.get(one);
    assert.ok(id !== undefined);
    return id;
  }

  #perform(taken: Step, now: Instant): void {
    switch (taken.what) {
      case 'issue':
        return this.#issue(taken, now);
      case 'connect':
        return this.#connect(taken.call, taken.side, taken.token, now);
      case 'leave':
      case 'send':
      case 'see':
        return this.#act(taken, now);
      case 'deliver':
        return this.#deliver(taken.place, taken.stays, now);
      case 'lose':
        return void this.#onTheirWay.splice(taken.place, 1);
      case 'end':
        return this.#end(taken.call, taken.reason);
      case 'reject':
        return this.#reject(taken.call, taken.reason, taken.isTheirs);
      case 'advance':
        return this.clock.advance(taken.ms);
      case 'step-wall':
        return this.clock.stepWall(taken.ms);
      case 'drain':
        this.naive.drain((one) => this.#isFound(one));
        return this.drain();
      case 'restart': {
        const kept = new Set(Array.from(this.directory.sessions(), ({ sessionId }) => sessionId));
        this.restart(taken.downMs);
        return this.naive.restart((one) => kept.has(this.idOf(one)), this.#now());
      }
    }
  }

  #issue({ device, room, media, timeoutS }: Omit<Order, 'key'>, now: Instant): void {
    const key = `key-${(this.#keys += 1)}`;
    const expected = this.naive.issue({ device, room, media, timeoutS, key }, now);
    const result = this.directory.issue(
      callOrder({
        appId: room.startsWith('a') ? testApp : otherApp,
        deviceId: device as DeviceId,
        room: { ...callRoom, roomId: room.slice(2), sessionKey: key },
        media: { ...callMedia, screen: { width: Number(media), height: 100 } },
        callingTimeoutS: timeoutS,
      }),
    );
    assert.equal(result.kind, expected.kind);
    if (expected.call === null || !('session' in result)) return;
    const { sessionId } = result.session;
    assert.equal(this.ids.get(expected.call) ?? sessionId, sessionId, 'it is the same session');
    assert.equal(expected.kind === 'issued', !this.ids.has(expected.call));
    this.ids.set(expected.call, sessionId);
  }

  #connect(ago: number, of: CallSide, token: string, now: Instant): void {
    const one = this.#call(ago);
    if (one === undefined) return;
    const naive = this.naive.connect(one, of, token, now);
    const connected = naive === null ? null : new WalkLeg(naive);
    const isIn = this.connect(this.idOf(one), of, token, connected?.real ?? new FakeCallLeg());
    assert.equal(isIn, connected !== null);
    if (connected !== null) this.legs.push(connected);
  }

  #act(taken: Extract<Step, { what: 'leave' | 'send' | 'see' }>, now: Instant): void {
    const found = this.#leg(taken.leg);
    if (found === undefined) return;
    const { call: one } = found.naive;
    if (taken.what === 'leave') {
      this.naive.leave(found.naive, this.#isFound(one));
      this.leave(this.idOf(one), found);
    } else if (taken.what === 'see') {
      this.naive.see(found.naive, taken.by, now);
      this.see(this.idOf(one), found, taken.by);
    } else {
      found.said += taken.skips;
      const report = stories[found.naive.side][found.said++];
      if (report !== undefined) this.#onTheirWay.push({ leg: found, report });
    }
  }

  #deliver(at: number, stays: boolean, now: Instant): void {
    const index = at % Math.max(1, this.#onTheirWay.length);
    const arriving = this.#onTheirWay[index];
    if (arriving === undefined) return;
    if (!stays) this.#onTheirWay.splice(index, 1);
    this.naive.report(arriving.leg.naive, arriving.report, now);
    this.report(this.idOf(arriving.leg.naive.call), arriving.leg, arriving.report);
  }

  /** A live call; if there are too few, any. */
  #call(ago: number): ServerCall | undefined {
    return this.naive.live().at(-1 - ago) ?? this.naive.calls.at(-1 - ago);
  }

  /** A leg that is current in its call; if there are too few, any. */
  #leg(ago: number): WalkLeg | undefined {
    return this.legs.filter(({ naive }) => isHeard(naive)).at(-1 - ago) ?? this.legs.at(-1 - ago);
  }

  #isFound(one: ServerCall): boolean {
    return this.directory.find(this.idOf(one)) !== null;
  }

  #end(ago: number, reason: CallEndReason): void {
    const one = this.#call(ago);
    if (one === undefined) return;
    const lives = one.over === null;
    if (lives) one.end(reason);
    assert.equal(this.directory.end(this.idOf(one), reason), lives);
  }

  #reject(ago: number, reason: RejectionReason, isTheirs: boolean): void {
    const one = this.#call(ago);
    if (one === undefined) return;
    const isTaken = isTheirs && one.over === null && one.state !== 'connected';
    if (isTaken) one.end(reason);
    const who = devices.find((device) => (device === one.device) === isTheirs);
    assert.ok(who !== undefined);
    assert.equal(this.reject(who, { sessionId: this.idOf(one), reason }), isTaken);
  }

  #now(): Instant {
    return { ms: this.clock.monotonicMs(), wallMs: this.clock.wallMs() };
  }

  #compare(): void {
    const events = this.#eventWords();
    let lagging = 0;
    for (const one of this.naive.calls) {
      const id = this.idOf(one);
      const session = this.directory.find(id);
      if (this.#lags(one, session)) {
        lagging += 1;
        continue;
      }
      assert.deepEqual(events.get(id) ?? [], one.words(), 'the events of a call');
      assert.equal(session !== null && isInCall(session.state), one.isInCall, 'in_call');
      const { device, room } = one;
      const expected = one.over === null ? { ...one.session(), device, room } : null;
      assert.deepEqual(session && asExpected(session), expected);
      assert.equal(this.directory.hasBridge(id), one.over === null && one.current('bridge') !== null);
    }
    assert.equal(this.directory.size, this.naive.live().length + lagging);
    for (const { real, naive } of this.legs)
      if (naive.call.ranOutAtMs === null || !this.#isFound(naive.call))
        assert.deepEqual(legWords(real), naive.words(), `what a ${naive.side} leg heard`);
    this.#checkDeps();
  }

  /** Words of every event, by session. */
  #eventWords(): Map<string, string[]> {
    const events = new Map<string, string[]>();
    for (const event of this.records.events) {
      const words = events.get(sessionOf(event)) ?? [];
      words.push(wordsOf(event));
      events.set(sessionOf(event), words);
    }
    return events;
  }

  /** True: the lease has expired and the wheel has not run yet, so for up to two ticks the call is still found. */
  #lags(one: ServerCall, session: CallSession | null): boolean {
    if (one.ranOutAtMs === null || session === null) return false;
    assert.ok(this.clock.monotonicMs() < one.ranOutAtMs + lateMs, 'an end by time is noticed in time');
    return true;
  }

  /** Invariants of any server, independent of the model. */
  #checkDeps(): void {
    const { directory, records, telemetry } = this;
    for (const deviceId of devices) {
      const sessions = directory.sessionsOf(deviceId);
      assert.ok(sessions.length <= 4, 'a device has four sessions at most');
      const names = sessions.map(({ appId, room }) => `${appId} ${room.roomId}`);
      assert.equal(new Set(names).size, names.length, 'a room has one session');
      assert.deepEqual(records.records.get(deviceId) ?? [], sessions, 'what is known is kept');
      for (const { sessionId, state } of sessions) {
        const rank = callStates.indexOf(state);
        assert.ok(rank >= (this.#farthest.get(sessionId) ?? 0), 'a state never goes back');
        this.#farthest.set(sessionId, rank);
      }
    }
    const counts = directory.countByState();
    for (const state of liveCallStates)
      assert.equal(
        counts[state],
        Array.from(directory.sessions()).filter((one) => one.state === state).length,
      );
    const events = records.events.map((event) => `${sessionOf(event)} ${wordsOf(event)}`);
    assert.deepEqual(this.#heard, events, 'followers hear what is written, in that order');
    for (const [result, count] of Object.entries(this.naive.reports))
      assert.equal(telemetry.count(`call report ${result}`), count, `${result} reports`);
  }
}

function sessionOf({ data }: EventDraft): string {
  return 'session' in data ? data.session : '';
}

function asExpected(session: CallSession): object {
  const { appId, deviceId: device, sessionId, room, media, ...kept } = session;
  assert.ok(sessionId.length > 0);
  const name = `${appId === testApp ? 'a' : 'b'} ${room.roomId}`;
  return { ...kept, device, room: name, media: String(media.screen?.width), key: room.sessionKey };
}

function walkWith(Start: new () => Walk): fc.IPropertyWithHooks<[Step[]]> {
  return fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (taken) => {
    const walk = new Start();
    for (const one of taken) walk.runStep(one);
    walk.end();
  });
}

test('the directory agrees with a naive model after every step, and every call ends', () => {
  fc.assert(walkWith(Walk), { numRuns: 1500 });
});

class HearsReplacedLegs extends Walk {
  override report(id: SessionId, late: WalkLeg, report: CallReport): void {
    const own = this.legs.findLast(
      ({ naive }) => naive.call === late.naive.call && naive.side === late.naive.side,
    );
    super.report(id, own ?? late, report);
  }
}

class HearsReplacedLegsGo extends Walk {
  override leave(id: SessionId, late: WalkLeg): void {
    const own = this.legs.findLast(
      ({ naive }) => naive.call === late.naive.call && naive.side === late.naive.side,
    );
    super.leave(id, own ?? late);
  }
}

class LetsAnyDeviceReject extends Walk {
  override reject(by: DeviceId, rejection: CallRejection): boolean {
    const { deviceId } = this.directory.find(rejection.sessionId) ?? { deviceId: by };
    return super.reject(deviceId, rejection);
  }
}

class TakesPingsForFrames extends Walk {
  override see(id: SessionId, from: WalkLeg): void {
    super.see(id, from, 'media');
  }
}

class TakesALostLegForTheEnd extends Walk {
  override leave(id: SessionId, from: WalkLeg): void {
    super.leave(id, from);
    this.directory.end(id, 'lost');
  }
}

class RenewsByConnecting extends Walk {
  override connect(id: SessionId, of: CallSide, token: string, real: FakeCallLeg): boolean {
    const isIn = super.connect(id, of, token, real);
    this.directory.alive(id, of, real, 'media');
    return isIn;
  }
}

class LetsBridgesEndOtherSessions extends Walk {
  override connect(id: SessionId, of: CallSide, token: string, real: FakeCallLeg): boolean {
    const deviceId = this.directory.find(id)?.deviceId;
    if (deviceId !== undefined)
      for (const { sessionId } of this.directory.sessionsOf(deviceId))
        if (sessionId !== id) this.directory.end(sessionId, 'replaced');
    return super.connect(id, of, token, real);
  }
}

class EndsCallsInADrain extends Walk {
  override drain(): void {
    for (const { sessionId } of Array.from(this.directory.sessions())) this.directory.end(sessionId, 'error');
  }
}

class ForgetsCallsInARestart extends Walk {
  override restart(downMs: number): void {
    this.records.records.clear();
    super.restart(downMs);
  }
}

class GoesByTheWallClock extends Walk {
  override newDirectory(): CallDirectory {
    const { clock, records, telemetry } = this;
    const byTheWall = {
      monotonicMs: () => clock.wallMs(),
      wallMs: () => clock.wallMs(),
      after: clock.after.bind(clock),
      every: clock.every.bind(clock),
    };
    const directory = new CallDirectory({ clock: byTheWall, records, telemetry });
    directory.follow(this);
    return directory;
  }
}

class NeverLooksAtLeases extends Walk {
  override newDirectory(): CallDirectory {
    const directory = super.newDirectory();
    directory.start = () => () => undefined;
    return directory;
  }
}

for (const Broken of [
  HearsReplacedLegs,
  HearsReplacedLegsGo,
  LetsAnyDeviceReject,
  TakesPingsForFrames,
  TakesALostLegForTheEnd,
  RenewsByConnecting,
  LetsBridgesEndOtherSessions,
  EndsCallsInADrain,
  ForgetsCallsInARestart,
  GoesByTheWallClock,
  NeverLooksAtLeases,
])
  test(`canary: a server that ${Broken.name} fails the walk, and the failure says its seed`, () => {
    const result = fc.check(walkWith(Broken), { numRuns: 5000, endOnFailure: true });
    assert.ok(result.errorInstance instanceof assert.AssertionError);
    assert.match(fc.defaultReportMessage(result) ?? '', /seed: -?\d+, path: /);
  });
