import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AnsweredEnds,
  answerCallEnd,
  endCall,
  type CallEndAnswer,
  type CallEndDeps,
} from '../../../../src/core/calls/end-call.ts';
import {
  callsHere,
  type CallCoordinator,
  type CallLocator,
} from '../../../../src/core/ports/call-locator.ts';
import { EndedCalls } from '../../../../src/core/calls/ended-calls.ts';
import { fail, succeed } from '../../../../src/lib/result.ts';
import type { CallEndOrder, CallName } from '../../../../src/model/call.ts';
import type { MemberId } from '../../../../src/model/cluster.ts';
import type { LoggedEvent } from '../../../../src/model/events.ts';
import type { DeviceId, SessionId } from '../../../../src/model/ids.ts';
import { callCommitMsMax, endedCallKnownMs } from '../../../../src/model/limits.ts';
import type { PeerFailure } from '../../../../src/model/peer.ts';
import type { PeerNotice } from '../../../../src/protocol/cluster/peer-message.ts';
import { callEndOrder, CallScene, legWords, orderForRoom } from '../../../support/call-scene.ts';
import { nextTurn } from '../../../support/event-loop.ts';
import { FakeLog, FakeRegistry, otherApp, testDevice } from '../../../support/fakes.ts';

const member = 'node-2/0@1' as MemberId;

class Scene extends CallScene {
  readonly registry = new FakeRegistry();
  readonly log = new FakeLog();
  readonly notices: PeerNotice[] = [];
  readonly ended = new EndedCalls(this.clock);
  readonly answered: AnsweredEnds;
  logged: LoggedEvent[] = [];
  callLocator: CallLocator = callsHere;
  #signatures = 0;

  constructor(knownMax?: number) {
    super();
    this.directory.follow(this.ended);
    this.answered = new AnsweredEnds(this.clock, (notice) => this.notices.push(notice), knownMax);
  }

  get deps(): CallEndDeps {
    const events = { recentOf: () => this.logged };
    const { clock, registry, log, directory, records, ended, answered, callLocator } = this;
    return { clock, registry, log, directory, records, ended, answered, callLocator, events };
  }

  /** An end of `room-1` by default, with a new signature. */
  order(change: Partial<CallEndOrder> = {}): CallEndOrder {
    this.#signatures += 1;
    const signature = this.#signatures.toString(16).padStart(64, '0');
    const signatureExpiresMs = this.clock.wallMs() + 300_000;
    return callEndOrder({ signature, signatureExpiresMs, ...change });
  }

  /** Session and reason, or the code. */
  async end(change: Partial<CallEndOrder> = {}): Promise<string | number> {
    return wordsOf(await endCall(this.deps, this.order(change)));
  }

  /** Another member has the device's calls and gives this answer. */
  hasCallsElsewhere(
    answers: readonly (CallEndAnswer | PeerFailure)[],
    coordinator: CallCoordinator = member,
  ): void {
    const left = [...answers];
    this.callLocator = {
      ...callsHere,
      locate: () => coordinator,
      ask: async () => {
        const answer = left.shift();
        assert.ok(answer !== undefined, 'it is not asked so often');
        return typeof answer === 'string' ? fail(answer) : succeed(answer as never);
      },
    };
  }
}

function wordsOf(answer: CallEndAnswer): string | number {
  return answer.ok ? `${answer.value.sessionId} ${answer.value.reason}` : answer.error.code;
}

function ofSession(sessionId: SessionId | string): { call: CallName } {
  return { call: { kind: 'session', sessionId: sessionId as SessionId } };
}

function ofRoom(roomId: string): { call: CallName } {
  return { call: { kind: 'room', roomId } };
}

const unknown: CallEndAnswer = fail({ code: 40414, message: 'no such call' });

test('the end of a call notifies both legs and the backends, once', async () => {
  const scene = new Scene();
  const sessionId = scene.issue();
  const [device, bridge] = [scene.connectDevice(sessionId), scene.connectBridge(sessionId)];
  assert.equal(await scene.end({ ...ofSession(sessionId), reason: 'rejected' }), `${sessionId} rejected`);
  assert.deepEqual(legWords(device), ['ended rejected', 'closed ended']);
  assert.deepEqual(legWords(bridge), ['ended rejected', 'closed ended']);
  assert.deepEqual(scene.callEvents(sessionId), ['started establishing', 'ended rejected']);
  assert.equal(scene.directory.isLive(sessionId), false);
});

test('a call is ended by its room, and the answer has the time', async () => {
  const scene = new Scene();
  const sessionId = scene.issue(orderForRoom('garden'));
  scene.issue(orderForRoom('street'));
  const answer = await endCall(scene.deps, scene.order(ofRoom('garden')));
  const endedAtMs = scene.clock.wallMs();
  assert.deepEqual(answer, succeed({ deviceId: testDevice, sessionId, reason: 'cancelled', endedAtMs }));
  assert.equal(scene.directory.size, 1);
});

test('a call that ended by another cause is answered with that reason, and reported once', async () => {
  const scene = new Scene();
  const sessionId = scene.issue();
  const leg = scene.connectBridge(sessionId);
  scene.directory.report(sessionId, 'bridge', leg, { kind: 'end', reason: 'hangup_phone' });
  for (const call of [ofSession(sessionId), ofRoom('room-1'), ofSession(sessionId)])
    assert.equal(await scene.end({ ...call, reason: 'rejected' }), `${sessionId} hangup_phone`);
  assert.deepEqual(scene.callEvents(sessionId), ['started establishing', 'ended hangup_phone']);
});

test('a call with an expired lease ended by it, not by the backend', async () => {
  const scene = new Scene();
  const sessionId = scene.issue();
  const { expiresAtMs } = scene.directory.find(sessionId) ?? { expiresAtMs: NaN };
  scene.clock.advance(expiresAtMs - scene.clock.wallMs());
  assert.equal(await scene.end(ofSession(sessionId)), `${sessionId} timeout`);
});

test('a call that is no longer remembered is answered from the log by its session, and is 40414 by its room', async () => {
  const scene = new Scene();
  const sessionId = scene.issue();
  scene.directory.end(sessionId, 'busy');
  scene.logged = scene.records.events.map((event) => event as LoggedEvent);
  const endedAtMs = scene.clock.wallMs();
  scene.clock.advance(endedCallKnownMs);
  assert.equal(await scene.end(ofRoom('room-1')), 40414);
  const answer = await endCall(scene.deps, scene.order(ofSession(sessionId)));
  assert.deepEqual(answer, succeed({ deviceId: testDevice, sessionId, reason: 'busy', endedAtMs }));
  scene.logged = [];
  assert.equal(await scene.end(ofSession(sessionId)), 40414);
});

test("another application's call, live or ended, is answered like an unknown one", async () => {
  const scene = new Scene();
  const sessionId = scene.issue(orderForRoom('room-1', { appId: otherApp }));
  assert.equal(await scene.end(ofSession(sessionId)), 40414);
  assert.equal(await scene.end(ofRoom('room-1')), 40414);
  assert.ok(scene.directory.isLive(sessionId));
  scene.directory.end(sessionId, 'busy');
  scene.logged = scene.records.events.map((event) => event as LoggedEvent);
  assert.equal(await scene.end(ofSession(sessionId)), 40414);
  assert.equal(await scene.end(ofSession('no-such-session')), 40414);
});

test('another device of the application does not name the call', async () => {
  const scene = new Scene();
  const other = 'OTHERDOOR' as DeviceId;
  scene.registry.addDevice({ deviceId: other });
  const sessionId = scene.issue();
  assert.equal(await scene.end({ ...ofSession(sessionId), deviceId: other }), 40414);
  scene.directory.end(sessionId, 'busy');
  assert.equal(await scene.end({ ...ofSession(sessionId), deviceId: other }), 40414);
});

test('a caller without access to the device is refused, and the call continues', async () => {
  const scene = new Scene();
  const sessionId = scene.issue();
  assert.equal(await scene.end({ ...ofSession(sessionId), deviceId: 'NOBODY' as DeviceId }), 40403);
  assert.equal(await scene.end({ ...ofSession(sessionId), appId: otherApp }), 40302);
  assert.ok(scene.directory.isLive(sessionId));
});

test("an expired device's call may be ended", async () => {
  const scene = new Scene();
  const sessionId = scene.issue();
  scene.registry.addDevice({ expiresAt: 1 });
  assert.equal(await scene.end(ofSession(sessionId)), `${sessionId} cancelled`);
});

test('an end that is not committed in time is 50301, and its repeat is answered once it is', async () => {
  const scene = new Scene();
  const sessionId = scene.issue();
  scene.records.outstanding = new Promise(() => undefined);
  const order = scene.order();
  const asked = endCall(scene.deps, order);
  await nextTurn();
  scene.clock.advance(callCommitMsMax);
  assert.equal(wordsOf(await asked), 50301);
  scene.records.outstanding = null;
  assert.equal(wordsOf(await endCall(scene.deps, order)), `${sessionId} cancelled`);
});

test("a repeated signature is answered like the first, and does not end the room's next call", async () => {
  const scene = new Scene();
  const first = scene.issue();
  const order = scene.order();
  const [one, joined] = await Promise.all([endCall(scene.deps, order), endCall(scene.deps, order)]);
  assert.deepEqual(joined, one);
  const next = scene.issue();
  assert.equal(wordsOf(await endCall(scene.deps, order)), `${first} cancelled`);
  assert.ok(scene.directory.isLive(next));
});

test('a repeat of an end that found no call does not end a later call', async () => {
  const scene = new Scene();
  const order = scene.order();
  assert.equal(wordsOf(await endCall(scene.deps, order)), 40414);
  const next = scene.issue();
  assert.equal(wordsOf(await endCall(scene.deps, order)), 40414);
  assert.ok(scene.directory.isLive(next));
});

test('with the memory of ends by room full the answer is 42901, and a call is still ended by its session', async () => {
  const scene = new Scene(1);
  const sessionId = scene.issue();
  await scene.end(ofRoom('elsewhere'));
  const refused = await endCall(scene.deps, scene.order());
  assert.equal(!refused.ok && refused.error.retryAfterS, 1);
  assert.equal(wordsOf(refused), 42901);
  assert.equal(await scene.end(ofSession(sessionId)), `${sessionId} cancelled`);
});

test('members notify each other of ends by room, and so recognise a repeat', async () => {
  const [one, two] = [new Scene(), new Scene()];
  const first = one.issue();
  const order = one.order();
  await endCall(one.deps, order);
  await nextTurn();
  for (const notice of one.notices)
    if (notice.kind === 'call-end-answered') two.answered.recordAnswered(notice);
  const next = two.issue();
  assert.equal(wordsOf(await endCall(two.deps, order)), `${first} cancelled`);
  assert.ok(two.directory.isLive(next));
  await one.end(ofSession(first));
  assert.equal(one.notices.length, 1, 'of an end by session there is nothing to tell');
});

test('a call at another member is ended there', async () => {
  const scene = new Scene();
  const sessionId = 'session-1' as SessionId;
  const end = { deviceId: testDevice, sessionId, reason: 'cancelled', endedAtMs: 5 } as const;
  scene.hasCallsElsewhere([succeed(end)]);
  assert.equal(await scene.end(ofSession(sessionId)), 'session-1 cancelled');
});

test('a member that is asked ends the call, and answers a repeat alike', async () => {
  const scene = new Scene();
  const sessionId = scene.issue();
  const order = scene.order();
  assert.equal(wordsOf(await answerCallEnd(scene.deps, order)), `${sessionId} cancelled`);
  scene.issue();
  assert.equal(wordsOf(await answerCallEnd(scene.deps, order)), `${sessionId} cancelled`);
  assert.equal(wordsOf(await answerCallEnd(scene.deps, scene.order(ofRoom('other')))), 40414);
});

for (const failure of ['nobody', 'unsent', 'unanswered'] as const)
  test(`a member that has the calls and is ${failure} is 50301`, async () => {
    const scene = new Scene();
    scene.hasCallsElsewhere([failure]);
    const refused = await endCall(scene.deps, scene.order());
    assert.equal(wordsOf(refused), 50301);
    assert.equal(!refused.ok && refused.error.retryAfterS, 1);
  });

test('while the member that has the calls is unknown or dead, the answer is 50301', async () => {
  const scene = new Scene();
  scene.hasCallsElsewhere([], 'unavailable');
  assert.equal(await scene.end(), 50301);
});

test('the end of a local call is remembered after the device moved to another member', async () => {
  const scene = new Scene();
  const sessionId = scene.issue();
  scene.directory.end(sessionId, 'busy');
  scene.hasCallsElsewhere([unknown, unknown]);
  assert.equal(await scene.end(ofSession(sessionId)), `${sessionId} busy`);
  assert.equal(await scene.end(ofSession('no-such-session')), 40414);
});

test('a registry that cannot be read is 50000, and logged', async () => {
  const scene = new Scene();
  scene.registry.failure = new Error('unreadable');
  assert.equal(await scene.end(), 50000);
  assert.equal(scene.log.lines.length, 1);
});
