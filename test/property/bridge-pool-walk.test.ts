/**
 * Random walks over the pool of bridges on a real call directory, in any order: calls are issued, continue, end, and are
 * adopted after a restart; bridges connect, answer, stay silent and disconnect. Each offer is checked when it is made, and the
 * waiting calls after every step, against the words of the specification. A failure prints its seed and path: pass both to
 * `fc.assert` to repeat it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BridgePool } from '../../src/core/calls/bridge-pool.ts';
import type { IdleBridge } from '../../src/core/calls/offered-call.ts';
import type { CallChange, CallSession } from '../../src/model/call.ts';
import type { ApplicationId, SessionId, TokenId } from '../../src/model/ids.ts';
import { progress } from '../support/call-scene.ts';
import { FakeCallLeg, otherApp, testApp } from '../support/fakes.ts';
import { FakeBridge, PoolScene } from '../support/pool-scene.ts';

const assignments = ['issuance', 'device'] as const;
type Assignment = (typeof assignments)[number];
type Applications = readonly ApplicationId[] | null;

/** `which`: number of calls, or bridges, before the latest; most steps use the latest ones. */
type Step =
  | { readonly what: 'issue'; readonly app: ApplicationId }
  | { readonly what: 'join'; readonly apps: Applications; readonly leavesWhenAsked: boolean }
  | { readonly what: 'accept' | 'refuse' | 'leave'; readonly which: number }
  | { readonly what: 'device' | 'comer' | 'ring' | 'lose' | 'end'; readonly which: number }
  | { readonly what: 'pass'; readonly ms: number }
  | { readonly what: 'restart' };

const which = fc.constantFrom(0, 0, 0, 1, 1, 2, 3, 5);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ what: fc.constant('issue'), app: fc.constantFrom(testApp, testApp, otherApp) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constant('join'),
      apps: fc.constantFrom<Applications[]>(null, [testApp], [testApp], [otherApp], [testApp, otherApp]),
      leavesWhenAsked: fc.constantFrom(false, false, false, false, false, true),
    }),
  },
  { weight: 7, arbitrary: fc.record({ what: fc.constantFrom('accept', 'accept', 'refuse'), which }) },
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constantFrom('device', 'device', 'device', 'comer', 'ring', 'lose', 'end'),
      which,
    }),
  },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('leave'), which }) },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('pass'),
      ms: fc.constantFrom(1, 700, 1999, 2000, 2001, 4100, 35_500, 101_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('restart') }) },
);

interface KnownCall {
  readonly sessionId: SessionId;
  readonly app: ApplicationId;
  /** True: the call has to be offered as long as it lives. */
  wants: boolean;
  /** Leg of the bridge that has the call. */
  holder: FakeCallLeg | null;
}

interface Question {
  /** Null: obsolete, since the call has a bridge by other means. */
  call: SessionId | null;
  readonly untilMs: number;
}

class WalkingBridge extends FakeBridge {
  readonly #walk: Walk;
  /** The latest question, until it is answered. */
  question: Question | null = null;
  isIdle = true;

  constructor(walk: Walk, apps: Applications, leavesWhenAsked: boolean) {
    super(walk.scene, apps, 0);
    this.#walk = walk;
    this.leavesWhenAsked = leavesWhenAsked;
  }

  /** True: idle, and every question was answered or has timed out. */
  get isFree(): boolean {
    return this.isIdle && (this.question === null || this.#walk.nowMs >= this.question.untilMs);
  }

  mayHave({ app, sessionId }: KnownCall): boolean {
    return (this.appIds === null || this.appIds.includes(app)) && !this.asked.includes(sessionId);
  }

  override ask(sessionId: SessionId): void {
    this.#walk.judgeQuestion(this, sessionId);
    this.question = { call: sessionId, untilMs: this.#walk.nowMs + 2000 };
    super.ask(sessionId);
  }

  override startCall(session: CallSession): boolean {
    this.isIdle = false;
    this.isIdle = !super.startCall(session);
    if (!this.isIdle) this.#walk.judgeGift(this, session.sessionId);
    return !this.isIdle;
  }

  override leave(): void {
    this.isIdle = false;
    super.leave();
  }
}

class Walk {
  readonly scene: PoolScene;
  readonly #assign: Assignment;
  readonly #seen: Map<string, number>;
  #calls: KnownCall[] = [];
  readonly #bridges: WalkingBridge[] = [];

  /** `seen`: counts the situations that the walks reach. */
  constructor(assign: Assignment, seen: Map<string, number>, newPool: typeof BridgePool) {
    this.#assign = assign;
    this.#seen = seen;
    this.scene = new PoolScene(assign, newPool);
  }

  get nowMs(): number {
    return this.scene.clock.monotonicMs();
  }

  runStep(taken: Step): void {
    this.#perform(taken);
    this.#calls = this.#calls.filter(({ sessionId }) => this.scene.directory.find(sessionId) !== null);
    this.#judgeWhoWaits();
  }

  /** Ends everything; nothing may remain. */
  end(): void {
    for (const { sessionId } of this.#calls) this.scene.directory.end(sessionId, 'cancelled');
    for (const bridge of this.#bridges) if (bridge.isIdle) bridge.leave();
    assert.deepEqual([this.scene.pool.idleCount, this.scene.clock.pendingTimers], [0, 1], 'nothing is held');
    assert.deepEqual(this.scene.newBridge(null).asked, [], 'no call is left in the queue');
  }

  /** Called at the moment of the question. */
  judgeQuestion(bridge: WalkingBridge, sessionId: SessionId): void {
    const call = this.#know(sessionId);
    assert.ok(bridge.isIdle, 'who has a call, or is gone, is asked nothing');
    assert.ok(bridge.isFree, 'one question at a time');
    assert.ok(call !== null, 'the call lives');
    assert.ok(call.wants && call.holder === null, 'the call has no bridge, and wants one');
    assert.ok(bridge.mayHave(call), 'it may have the call, and was not asked about it before');
    assert.ok(!this.#isAsked(call, this.nowMs), 'no other bridge has a pending offer of it');
    const elders = this.#calls.slice(0, this.#calls.indexOf(call));
    assert.ok(
      !elders.some((elder) => this.#surelyWaits(elder) && bridge.mayHave(elder)),
      'the oldest goes first',
    );
    this.#count('asked');
  }

  judgeGift(bridge: WalkingBridge, sessionId: SessionId): void {
    const call = this.#know(sessionId);
    assert.ok(call !== null && call.wants && call.holder === null, 'a call has one bridge');
    call.wants = false;
    call.holder = bridge.leg;
    this.#count('given');
  }

  #judgeWhoWaits(): void {
    const { pool, directory } = this.scene;
    for (const call of this.#calls) {
      assert.equal(directory.hasBridge(call.sessionId), call.holder !== null);
      if (!call.wants || this.#isAsked(call, this.nowMs)) continue;
      this.#count('waits');
      const idler = this.#bridges.find((bridge) => bridge.isFree && bridge.mayHave(call));
      assert.equal(
        idler,
        undefined,
        'no call waits while a bridge is idle that it may have and has not asked',
      );
    }
    assert.equal(pool.idleCount, this.#bridges.filter(({ isIdle }) => isIdle).length);
    for (const app of [testApp, otherApp]) {
      const free = this.#bridges.some(({ isFree, appIds }) => isFree && (appIds?.includes(app) ?? true));
      assert.equal(pool.hasIdleFor(app), free);
    }
  }

  #perform(taken: Step): void {
    switch (taken.what) {
      case 'issue':
        this.#know(this.scene.newCall(taken.app));
        return;
      case 'join':
        return this.#join(taken.apps, taken.leavesWhenAsked);
      case 'accept':
      case 'refuse':
        return this.#answer(this.#answerers().at(-1 - taken.which), taken.what);
      case 'leave':
        return this.#leave(this.#bridges.at(-1 - taken.which));
      case 'pass':
        return this.scene.clock.advance(taken.ms);
      case 'restart':
        return this.#restart();
      default: {
        const call = this.#calls.at(-1 - taken.which);
        if (call !== undefined) this.#performOn(call, taken.what);
      }
    }
  }

  #performOn(call: KnownCall, what: 'device' | 'comer' | 'ring' | 'lose' | 'end'): void {
    const { directory } = this.scene;
    const { sessionId, holder } = call;
    switch (what) {
      case 'device':
        return this.#connectDevice(call);
      case 'comer':
        return this.#attachBridge(call);
      case 'ring':
        if (holder !== null) directory.report(sessionId, 'bridge', holder, progress('ringing'));
        return;
      case 'lose':
        if (holder === null) return;
        this.#lose(holder);
        return directory.disconnected(sessionId, 'bridge', holder);
      case 'end':
        directory.end(sessionId, 'cancelled');
    }
  }

  #join(apps: Applications, leavesWhenAsked: boolean): void {
    const bridge = new WalkingBridge(this, apps, leavesWhenAsked);
    this.#bridges.push(bridge);
    bridge.join();
  }

  /** Idle bridges, those with a pending question last. */
  #answerers(): WalkingBridge[] {
    const idle = this.#bridges.filter(({ isIdle }) => isIdle);
    return idle.toSorted((one, other) => Number(other.isFree) - Number(one.isFree));
  }

  #answer(bridge: WalkingBridge | undefined, how: 'accept' | 'refuse'): void {
    if (bridge === undefined) return;
    const question = bridge.isFree ? null : bridge.question;
    const call = question === null || question.call === null ? null : this.#know(question.call);
    const isGood = how === 'accept' && call !== null;
    if (how === 'accept' && !isGood) this.#count(question === null ? 'accepted late' : 'accepted in vain');
    bridge.question = null;
    bridge[how]();
    const isLive = call !== null && this.scene.directory.find(call.sessionId) !== null;
    assert.equal(bridge.call, isGood && isLive ? call.sessionId : null, 'an accept in time takes the call');
  }

  #leave(bridge: WalkingBridge | undefined): void {
    if (bridge === undefined) return;
    if (bridge.call !== null) this.#lose(bridge.leg);
    if (bridge.call !== null || bridge.isIdle) bridge.leave();
  }

  /** Runs before the directory is notified: the pool asks another bridge in the same turn. */
  #lose(leg: FakeCallLeg): void {
    const call = this.#calls.find(({ holder }) => holder === leg);
    if (call === undefined) return;
    call.holder = null;
    call.wants = this.scene.state(call.sessionId) === 'establishing';
    if (call.wants) this.#count('offered again');
  }

  #connectDevice(call: KnownCall): void {
    if (this.#assign === 'device' && this.scene.state(call.sessionId) === 'issued') call.wants = true;
    this.scene.directory.connectDevice(call.sessionId, 'token' as TokenId, new FakeCallLeg());
  }

  /** A bridge connects for this call by name and takes it over from any other. */
  #attachBridge(call: KnownCall): void {
    const leg = new FakeCallLeg();
    call.wants = false;
    call.holder = leg;
    for (const { question } of this.#bridges) if (question?.call === call.sessionId) question.call = null;
    this.scene.pool.served(call.sessionId);
    this.scene.directory.connectBridge(call.sessionId, leg);
  }

  /** All legs are lost; every call that needs a bridge by the specification is offered again. */
  #restart(): void {
    for (const bridge of this.#bridges) if (bridge.isIdle) bridge.leave();
    this.#bridges.length = 0;
    this.scene.restart(500);
    for (const call of this.#calls) {
      const state = this.scene.state(call.sessionId);
      call.holder = null;
      call.wants = state === 'establishing' || (state === 'issued' && this.#assign === 'issuance');
    }
  }

  /** Null: the call is over. A bridge may be offered a call before its issuance returns. */
  #know(sessionId: SessionId): KnownCall | null {
    const session = this.scene.directory.find(sessionId);
    if (session === null) return null;
    const known = this.#calls.find((call) => call.sessionId === sessionId);
    if (known !== undefined) return known;
    const call = { sessionId, app: session.appId, wants: this.#assign === 'issuance', holder: null };
    this.#calls.push(call);
    return call;
  }

  /** Among questions that time out in the same millisecond, one ends before the other. */
  #surelyWaits(call: KnownCall): boolean {
    return this.#know(call.sessionId) !== null && call.wants && !this.#isAsked(call, this.nowMs - 1);
  }

  #isAsked({ sessionId }: KnownCall, atMs: number): boolean {
    return this.#bridges.some(
      ({ isIdle, question }) => isIdle && question?.call === sessionId && atMs < question.untilMs,
    );
  }

  #count(what: string): void {
    this.#seen.set(what, (this.#seen.get(what) ?? 0) + 1);
  }
}

function walks(
  assign: Assignment,
  seen: Map<string, number>,
  newPool = BridgePool,
): fc.IPropertyWithHooks<[Step[]]> {
  return fc.property(fc.array(step, { minLength: 15, maxLength: 60, size: 'max' }), (steps) => {
    const walk = new Walk(assign, seen, newPool);
    for (const taken of steps) walk.runStep(taken);
    walk.end();
  });
}

for (const assign of assignments)
  test(`assignment by ${assign}: one bridge a call, one call a bridge, and nobody waits for nothing`, () => {
    const seen = new Map<string, number>();
    fc.assert(walks(assign, seen), { numRuns: 4000 });
    for (const what of ['asked', 'given', 'waits', 'offered again', 'accepted late', 'accepted in vain'])
      assert.ok((seen.get(what) ?? 0) > 20, `the walks came to: ${what} ${seen.get(what)} times`);
  });

class ForgetsWhoLostTheirBridge extends BridgePool {
  override bridgeLost(): void {}
}

class OffersWhatIsOver extends BridgePool {
  override changed(session: CallSession, change: CallChange): void {
    if (change.state !== 'ended') super.changed(session, change);
  }
}

class OffersWhatHasItsBridge extends BridgePool {
  override served(): void {}
}

class TakesRefusalsForNothing extends BridgePool {
  override answer(bridge: IdleBridge, accepted: boolean): void {
    if (accepted) super.answer(bridge, true);
  }
}

class TakesRefusalsForAccepts extends BridgePool {
  override answer(bridge: IdleBridge): void {
    super.answer(bridge, true);
  }
}

class KeepsWhoLeft extends BridgePool {
  override leave(): void {}
}

class TakesUpNothing extends BridgePool {
  override resume(): void {}
}

for (const Broken of [
  ForgetsWhoLostTheirBridge,
  OffersWhatIsOver,
  OffersWhatHasItsBridge,
  TakesRefusalsForNothing,
  TakesRefusalsForAccepts,
  KeepsWhoLeft,
  TakesUpNothing,
])
  test(`canary: a pool that ${Broken.name} fails the walk, and the failure says its seed`, () => {
    const result = fc.check(walks('issuance', new Map(), Broken), { numRuns: 500, endOnFailure: true });
    assert.equal(result.failed, true);
    assert.match(fc.defaultReportMessage(result) ?? '', /seed: -?\d+, path: /);
  });
