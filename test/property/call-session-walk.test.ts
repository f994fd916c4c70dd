/**
 * Random walks of one session through its state machine against a naive model: reports in any order, repeated or missing; legs
 * that reconnect; frames, pings, time, repeated issuance, restarts. A failure prints its seed and path: pass both to
 * `fc.assert` to repeat it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { callEvent, reduceCall, type CallInput, type CallStep } from '../../src/model/state/call-session.ts';
import { issueSession, reissueSession } from '../../src/model/state/call-issuance.ts';
import { leftLeaseMs, renewedLeaseMs, wholeLeaseMs } from '../../src/model/state/call-lease.ts';
import {
  callStates,
  isInCall,
  type AliveSign,
  type CallEndReason,
  type CallOrder,
  type CallSession,
  type RejectionReason,
} from '../../src/model/call.ts';
import type { SessionId, TokenId } from '../../src/model/ids.ts';
import { callMedia, callOrder, callRoom, progress, wordsOf } from '../support/call-scene.ts';
import { NaiveCall, type ExpectedSession } from './naive-calls.ts';

type Step =
  | { readonly what: 'device'; readonly token: string }
  | { readonly what: 'bridge' }
  | { readonly what: 'say'; readonly state: 'ringing' | 'attempting' | 'connected' }
  | { readonly what: 'hang-up' | 'server-ends'; readonly reason: CallEndReason }
  | { readonly what: 'reject'; readonly reason: RejectionReason }
  | { readonly what: 'see'; readonly by: AliveSign }
  | { readonly what: 'issue'; readonly timeoutS: number; readonly width: number }
  | { readonly what: 'advance' | 'step-wall'; readonly ms: number }
  | { readonly what: 'restart'; readonly downMs: number };

const timeoutS = fc.constantFrom(1, 10, 40);
const reason = fc.constantFrom<CallEndReason[]>('hangup_device', 'rejected', 'error');
const edges = [1, 5999, 6000, 14_999, 15_000, 34_999, 35_000, 44_999, 45_000, 59_999, 60_000, 61_000];
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ what: fc.constant('device'), token: fc.constantFrom('a', 'b', 'c', 'd', 'e') }),
  },
  { weight: 4, arbitrary: fc.record({ what: fc.constant('bridge') }) },
  {
    weight: 7,
    arbitrary: fc.record({
      what: fc.constant('say'),
      state: fc.constantFrom('ringing', 'attempting', 'connected'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constantFrom('hang-up', 'server-ends'), reason }) },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant('reject'),
      reason: fc.constantFrom('rejected', 'busy'),
    }),
  },
  { weight: 8, arbitrary: fc.record({ what: fc.constant('see'), by: fc.constantFrom('media', 'ping') }) },
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constant('issue'), timeoutS, width: fc.constantFrom(160, 160, 320) }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      what: fc.constant('advance'),
      ms: fc.oneof(
        { weight: 3, arbitrary: fc.integer({ min: 0, max: 12_000 }) },
        { weight: 1, arbitrary: fc.constantFrom(...edges) },
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ what: fc.constant('step-wall'), ms: fc.integer({ min: -90_000, max: 90_000 }) }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('restart'), downMs: fc.nat({ max: 20_000 }) }) },
);

/** The longest lease: issued with a ring timeout of 40 s. */
const longestLeaseMs = 100_000;

/** One session and the time. Canaries override the protected members. */
class Walk {
  readonly words: string[] = [];
  session: CallSession;
  hasEnded = false;
  readonly #naive = new NaiveCall();
  #ms = 0;
  #wallMs = 1_795_163_400_000;
  #deadlineMs: number;
  #issuances = 0;

  constructor(ringS: number) {
    const order = this.#order(ringS, 160);
    this.session = issueSession('session-1' as SessionId, order, this.#wallMs);
    this.#deadlineMs = this.leftMs(this.session, this.#wallMs);
  }

  runStep(taken: Step): void {
    const rank = callStates.indexOf(this.session.state);
    this.#perform(taken);
    this.#runOut();
    assert.ok(callStates.indexOf(this.session.state) >= rank, 'it never goes back');
    this.#compare();
  }

  /** Renewals stop. */
  end(): void {
    this.runStep({ what: 'advance', ms: longestLeaseMs });
    assert.ok(this.hasEnded, 'its longest lease has ended it');
    assert.match(this.words.join(), /^(?:started \w+,(?:state \w+,)*)?ended \w+$/);
  }

  protected reduce(session: CallSession, input: CallInput, atMs: number): CallStep {
    return reduceCall(session, input, atMs);
  }

  protected leftMs(session: CallSession, wallMs: number): number {
    return leftLeaseMs(session, wallMs);
  }

  #perform(taken: Step): void {
    if (taken.what === 'advance') return this.#pass(taken.ms);
    if (taken.what === 'step-wall') {
      this.#wallMs += taken.ms;
      return;
    }
    if (this.hasEnded) return;
    switch (taken.what) {
      case 'device':
        this.#recordFact({ what: 'connected', side: 'device', token: taken.token });
        return this.#input({ kind: 'device-connected', tokenId: taken.token as TokenId });
      case 'bridge':
        this.#recordFact({ what: 'connected', side: 'bridge', token: '' });
        return this.#input({ kind: 'bridge-connected' });
      case 'say':
        this.#recordFact({ what: 'said', state: taken.state });
        return this.#input({ kind: 'reported', report: progress(taken.state) });
      case 'hang-up':
        this.#naive.over = taken.reason;
        return this.#input({ kind: 'reported', report: { kind: 'end', reason: taken.reason } });
      case 'server-ends':
        this.#naive.over = taken.reason;
        return this.#input({ kind: 'ended', reason: taken.reason });
      case 'reject':
        if (this.#naive.state !== 'connected') this.#naive.over = taken.reason;
        return this.#input({ kind: 'rejected', reason: taken.reason });
      case 'see':
        this.#recordFact({ what: 'seen', by: taken.by });
        return this.#lease(renewedLeaseMs(this.session, taken.by));
      case 'issue':
        return this.#issue(taken.timeoutS, taken.width);
      case 'restart':
        this.#ms += taken.downMs;
        this.#wallMs += taken.downMs;
        this.#recordFact({ what: 'restarted' });
        return this.#lease(this.leftMs(this.session, this.#wallMs));
    }
  }

  #pass(ms: number): void {
    this.#ms += ms;
    this.#wallMs += ms;
  }

  #runOut(): void {
    if (!this.hasEnded && this.#ms >= this.#deadlineMs) this.#input({ kind: 'lease-ended' });
    this.#naive.over ??= this.#naive.runsOutBy(this.#ms);
  }

  #input(input: CallInput): void {
    const { session, change, leaseMs } = this.reduce(this.session, input, this.#wallMs);
    this.session = session;
    this.#lease(leaseMs);
    if (change === null) return;
    this.hasEnded = change.state === 'ended';
    const event = callEvent(change);
    assert.equal(event.atMs, this.#wallMs);
    this.words.push(wordsOf(event));
  }

  #issue(ringS: number, width: number): void {
    const order = this.#order(ringS, width, false);
    const result = reissueSession(this.session, order, this.#wallMs);
    const isSame = this.#naive.media === String(width);
    const expected = isSame ? 'renewed' : this.#naive.state === 'issued' ? 'changed' : 'media_in_use';
    assert.equal(result.kind, expected);
    if (result.kind === 'media_in_use') return;
    this.session = result.session;
    this.#recordIssuance(ringS, width);
    if (this.session.state === 'issued') this.#lease(this.leftMs(this.session, this.#wallMs));
  }

  #order(ringS: number, width: number, isFirst = true): CallOrder {
    this.#issuances += 1;
    if (isFirst) this.#recordIssuance(ringS, width);
    const room = { ...callRoom, sessionKey: `key-${this.#issuances}` };
    const media = { ...callMedia, screen: { width, height: 100 } };
    return callOrder({ room, media, callingTimeoutS: ringS });
  }

  #recordIssuance(ringS: number, width: number): void {
    this.#recordFact({
      what: 'issued',
      timeoutS: ringS,
      media: String(width),
      key: `key-${this.#issuances}`,
    });
  }

  #recordFact(fact: WhatOf<Parameters<NaiveCall['recordFact']>[0]>): void {
    this.#naive.recordFact({ ...fact, ms: this.#ms, wallMs: this.#wallMs });
  }

  #lease(leaseMs: number | null): void {
    if (leaseMs !== null) this.#deadlineMs = this.#ms + leaseMs;
  }

  #compare(): void {
    assert.deepEqual(this.words, this.#naive.words());
    assert.equal(this.hasEnded, this.#naive.over !== null);
    assert.equal(!this.hasEnded && isInCall(this.session.state), this.#naive.isInCall, 'in_call');
    if (this.hasEnded) return;
    assert.deepEqual(asExpected(this.session), this.#naive.session());
    assert.equal(this.#deadlineMs, this.#naive.deadlineMs(), 'its lease');
  }
}

type WhatOf<Fact> = Fact extends unknown ? Omit<Fact, 'ms' | 'wallMs'> : never;

function asExpected(session: CallSession): ExpectedSession {
  const { appId, deviceId, sessionId, room, media, ...kept } = session;
  assert.deepEqual([appId, deviceId, sessionId], [callOrder().appId, callOrder().deviceId, 'session-1']);
  return { ...kept, media: String(media.screen?.width), key: room.sessionKey };
}

function walkWith(Start: new (ringS: number) => Walk): fc.IPropertyWithHooks<[number, Step[]]> {
  return fc.property(timeoutS, fc.array(step, { maxLength: 60, size: 'max' }), (ringS, steps) => {
    const walk = new Start(ringS);
    for (const taken of steps) walk.runStep(taken);
    walk.end();
  });
}

test('the state machine agrees with a naive model after every step, and every session ends', () => {
  fc.assert(walkWith(Walk), { numRuns: 3000 });
});

class GoesBack extends Walk {
  protected override reduce(session: CallSession, input: CallInput, atMs: number): CallStep {
    const isProgress = input.kind === 'reported' && input.report.kind === 'progress';
    return super.reduce(isProgress ? { ...session, state: 'establishing' } : session, input, atMs);
  }
}

class BeginsLeasesAnewInARestart extends Walk {
  protected override leftMs(session: CallSession): number {
    return wholeLeaseMs(session);
  }
}

for (const Broken of [GoesBack, BeginsLeasesAnewInARestart])
  test(`canary: a machine that ${Broken.name} fails the walk, and the failure says its seed`, () => {
    const result = fc.check(walkWith(Broken), { numRuns: 5000, endOnFailure: true });
    assert.ok(result.errorInstance instanceof assert.AssertionError);
    assert.match(fc.defaultReportMessage(result) ?? '', /seed: -?\d+, path: /);
  });
