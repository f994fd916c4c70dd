import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallReport, LiveCallState } from '../../../../src/model/call.ts';
import type { SessionId, TokenId } from '../../../../src/model/ids.ts';
import { callCommitMsMax } from '../../../../src/model/limits.ts';
import { queryCallStatus, type CallStatusDeps } from '../../../../src/core/calls/query-call-status.ts';
import { callsHere } from '../../../../src/core/ports/call-locator.ts';
import { CallScene, orderForRoom, progress } from '../../../support/call-scene.ts';
import { FakeCallLeg, FakeLog, FakeRegistry, otherApp, testApp, testDevice } from '../../../support/fakes.ts';

class Scene extends CallScene {
  readonly registry = new FakeRegistry();
  readonly log = new FakeLog();
  readonly deps: CallStatusDeps;
  readonly #leg = new FakeCallLeg();

  constructor() {
    super();
    const { clock, registry, records, log } = this;
    this.deps = { clock, registry, records, log, callLocator: callsHere };
  }

  /** Begins a session and brings it as far as `state`. */
  begin(state: LiveCallState, roomId = 'room-1'): SessionId {
    const sessionId = this.issue(orderForRoom(roomId));
    if (state === 'issued') return sessionId;
    this.directory.connectBridge(sessionId, this.#leg);
    if (state !== 'establishing') this.report(sessionId, progress(state));
    return sessionId;
  }

  report(sessionId: SessionId, report: CallReport): void {
    this.directory.report(sessionId, 'bridge', this.#leg, report);
  }

  /** The answer in this turn: true in a call, or the code. */
  status(appId = testApp): boolean | number {
    const answer = queryCallStatus(this.deps, appId, testDevice);
    assert.ok(!(answer instanceof Promise), 'nothing is to be waited for');
    return answer.ok ? answer.value : answer.error.code;
  }
}

test('a device without a session is in no call', () => {
  assert.equal(new Scene().status(), false);
});

const states = [
  ['issued', false],
  ['establishing', true],
  ['ringing', true],
  ['attempting', true],
  ['connected', true],
] as const;
for (const [state, isInCall] of states)
  test(`a device whose session is ${state} is ${isInCall ? '' : 'not '}in a call`, () => {
    const scene = new Scene();
    const sessionId = scene.begin(state);
    assert.equal(scene.directory.find(sessionId)?.state, state);
    assert.equal(scene.status(), isInCall);
  });

test('a call that has ended is none, by a report as by its lease', () => {
  const scene = new Scene();
  scene.report(scene.begin('connected'), { kind: 'end', reason: 'hangup_phone' });
  assert.equal(scene.status(), false);
  scene.begin('establishing');
  assert.equal(scene.status(), true);
  scene.clock.advance(60_000);
  assert.equal(scene.status(), false);
});

test('one of several sessions in a call is enough', () => {
  const scene = new Scene();
  scene.begin('issued', 'room-1');
  const inCall = scene.begin('ringing', 'room-2');
  scene.begin('issued', 'room-3');
  assert.equal(scene.status(), true);
  scene.directory.connectDevice(inCall, 'token' as TokenId, new FakeCallLeg());
  assert.equal(scene.directory.sessionsOf(testDevice).length, 1);
  scene.report(inCall, { kind: 'end', reason: 'hangup_phone' });
  assert.equal(scene.status(), false);
});

const refusals = [
  { name: 'an unknown device', change: (s: Scene) => s.registry.devices.clear(), code: 40403 },
  { name: 'a disabled device', change: (s: Scene) => s.registry.addDevice({ disabled: true }), code: 40403 },
  { name: "another application's device", change: () => undefined, code: 40302, appId: otherApp },
  { name: 'an expired device', change: (s: Scene) => s.registry.addDevice({ expiresAt: 1 }), code: 40304 },
  {
    name: 'a registry that cannot be read',
    change: (s: Scene) => (s.registry.failure = new Error('gone')),
    code: 50000,
  },
  {
    name: 'a store that cannot be read',
    change: (s: Scene) => (s.records.failure = new Error('gone')),
    code: 50000,
  },
];
for (const { name, change, code, appId } of refusals)
  test(`the call status in the case of ${name} is ${code}, never false`, () => {
    const scene = new Scene();
    scene.begin('connected');
    change(scene);
    assert.equal(scene.status(appId), code);
    assert.equal(scene.log.lines.length, code === 50000 ? 1 : 0);
  });

test('an answer waits for the commit of the state', async () => {
  const scene = new Scene();
  scene.begin('ringing');
  let commit = (): void => undefined;
  scene.records.outstanding = new Promise((resolve) => (commit = resolve));
  const answer = queryCallStatus(scene.deps, testApp, testDevice);
  assert.ok(answer instanceof Promise);
  commit();
  assert.deepEqual(await answer, { ok: true, value: true });
  assert.equal(scene.clock.pendingTimers, 1, 'only the wheel turns');
});

test('a state that is not committed within 2 s is answered 50000', async () => {
  const scene = new Scene();
  scene.records.outstanding = new Promise(() => undefined);
  const answer = queryCallStatus(scene.deps, testApp, testDevice);
  scene.clock.advance(callCommitMsMax - 1);
  assert.equal(scene.clock.pendingTimers, 2);
  scene.clock.advance(1);
  assert.deepEqual(await answer, { ok: false, error: { code: 50000, message: 'internal server error' } });
});

test('a call at another member counts', async () => {
  const scene = new Scene();
  const isInCallElsewhere = async (): Promise<boolean> => true;
  const answer = await queryCallStatus(
    { ...scene.deps, callLocator: { isInCallElsewhere } },
    testApp,
    testDevice,
  );
  assert.deepEqual(answer, { ok: true, value: true });
});

test('while the calls of other members are unknown, a device without a call here is 50000', async () => {
  const scene = new Scene();
  const isInCallElsewhere = (): Promise<never> => Promise.reject(new Error('away'));
  const answer = await queryCallStatus(
    { ...scene.deps, callLocator: { isInCallElsewhere } },
    testApp,
    testDevice,
  );
  assert.equal(answer.ok ? 0 : answer.error.code, 50000);
});

test('a local call is answered without asking other members', () => {
  const scene = new Scene();
  scene.begin('connected');
  const isInCallElsewhere = (): Promise<never> => assert.fail('nobody is asked');
  const answer = queryCallStatus({ ...scene.deps, callLocator: { isInCallElsewhere } }, testApp, testDevice);
  assert.deepEqual(answer, { ok: true, value: true });
});
