import assert from 'node:assert/strict';
import { test } from 'node:test';
import { liveCallStates, type AliveSign, type LiveCallState } from '../../../../src/model/call.ts';
import type { SessionId, TokenId } from '../../../../src/model/ids.ts';
import { callOrder, CallScene, legWords, orderForRoom, progress } from '../../../support/call-scene.ts';
import { FakeCallLeg } from '../../../support/fakes.ts';

const wholeLeaseMs = {
  issued: 100_000,
  establishing: 35_000,
  ringing: 45_000,
  attempting: 45_000,
  connected: 60_000,
};
const endsAs = {
  issued: 'timeout',
  establishing: 'lost',
  ringing: 'timeout',
  attempting: 'timeout',
  connected: 'lost',
};

/** A call in this state, with both its legs unless it is only issued; its lease begins now. */
class LeaseScene extends CallScene {
  readonly sessionId: SessionId;
  bridge = new FakeCallLeg();
  device = new FakeCallLeg();

  constructor(state: LiveCallState) {
    super();
    this.sessionId = this.issue();
    if (state === 'issued') return;
    this.bridge = this.connectBridge(this.sessionId);
    this.device = this.connectDevice(this.sessionId, 'token');
    if (state !== 'establishing') this.report(state);
  }

  report(state: 'ringing' | 'attempting' | 'connected'): void {
    this.directory.report(this.sessionId, 'bridge', this.bridge, progress(state));
  }

  alive(by: AliveSign): void {
    this.directory.alive(this.sessionId, 'bridge', this.bridge, by);
    this.directory.alive(this.sessionId, 'device', this.device, by);
  }

  /** It is there until `ms` from now, and not any longer. */
  assertEndsIn(ms: number, reason: string): void {
    this.clock.advance(ms - 1);
    assert.notEqual(this.state(this.sessionId), null, `it lives for ${ms} ms`);
    this.clock.advance(1);
    assert.equal(this.state(this.sessionId), null, `it ends after ${ms} ms`);
    assert.equal(this.told(this.sessionId).at(-1), `ended ${reason}`);
  }
}

for (const state of liveCallStates)
  test(`a call that stays ${state} ends as ${endsAs[state]} after ${wholeLeaseMs[state] / 1000} s, and its legs are told`, () => {
    const scene = new LeaseScene(state);
    scene.assertEndsIn(wholeLeaseMs[state], endsAs[state]);
    assert.equal(scene.telemetry.count(`call end ${endsAs[state]}`), 1);
    if (state === 'issued') return;
    for (const leg of [scene.bridge, scene.device])
      assert.deepEqual(legWords(leg).slice(-2), [`ended ${endsAs[state]}`, 'closed ended']);
  });

for (const state of liveCallStates)
  test(`a step of the wall clock moves no lease of a call that is ${state}`, () => {
    for (const stepMs of [-86_400_000, 86_400_000]) {
      const scene = new LeaseScene(state);
      scene.clock.stepWall(stepMs);
      scene.assertEndsIn(wholeLeaseMs[state], endsAs[state]);
    }
  });

test('a connected call of which frames come lives as long as they do', () => {
  const scene = new LeaseScene('connected');
  for (let i = 0; i < 200; i++) {
    scene.clock.advance(59_500);
    scene.alive('media');
  }
  const writes = scene.records.writes.length;
  assert.equal(scene.state(scene.sessionId), 'connected');
  scene.assertEndsIn(60_000, 'lost');
  assert.equal(scene.records.writes.length, writes + 1, 'a renewal is not written');
});

test('ringing and attempting share one lease, whatever is reported or comes', () => {
  const scene = new LeaseScene('ringing');
  for (const what of ['ringing', 'attempting', 'ringing', 'attempting'] as const) {
    scene.clock.advance(10_000);
    scene.report(what);
    scene.alive('media');
    scene.alive('ping');
    scene.connectDevice(scene.sessionId, 'token');
    scene.issue(callOrder({ callingTimeoutS: 600 }));
  }
  scene.assertEndsIn(5000, 'timeout');
});

test('a leg that is lost and does not come back is waited for until the lease is over', () => {
  const scene = new LeaseScene('connected');
  scene.directory.disconnected(scene.sessionId, 'device', scene.device);
  scene.directory.disconnected(scene.sessionId, 'bridge', scene.bridge);
  scene.assertEndsIn(60_000, 'lost');
  assert.deepEqual(legWords(scene.device).slice(-1), ['connected']);
});

test('a lease that is over is over before the wheel comes by', () => {
  const scene = new LeaseScene('connected');
  scene.clock.advance(250);
  scene.alive('media');
  scene.clock.advance(60_000);
  assert.equal(scene.state(scene.sessionId), 'connected', 'the wheel has not come by');
  scene.alive('media');
  scene.directory.report(scene.sessionId, 'bridge', scene.bridge, progress('connected'));
  assert.equal(scene.telemetry.count('call report stray'), 1);
  assert.equal(scene.told(scene.sessionId).at(-1), 'ended lost');
  assert.equal(scene.directory.size, 0);
});

/** Between two turns of the wheel, on a whole second by the wall clock. */
function sceneOffTheTick(): CallScene {
  const scene = new CallScene();
  scene.clock.advance(250);
  scene.clock.stepWall(-250);
  return scene;
}

const uses: { readonly what: string; readonly use: (scene: CallScene, sessionId: SessionId) => boolean }[] = [
  {
    what: 'no device connects',
    use: ({ directory }, id) => directory.connectDevice(id, 'token' as TokenId, new FakeCallLeg()),
  },
  { what: 'no bridge connects', use: ({ directory }, id) => directory.connectBridge(id, new FakeCallLeg()) },
  { what: 'nothing can be ended', use: ({ directory }, id) => directory.end(id, 'error') },
  { what: 'nothing is renewed', use: (scene, id) => scene.issue() === id },
];
for (const { what, use } of uses)
  test(`where the lease is over and the wheel has not come by, ${what}`, () => {
    const scene = sceneOffTheTick();
    const sessionId = scene.issue();
    scene.clock.advance(100_000);
    assert.equal(scene.state(sessionId), 'issued', 'the wheel has not come by');
    assert.equal(use(scene, sessionId), false);
    assert.deepEqual(scene.told(sessionId), ['ended timeout']);
  });

test('a session whose lease is over ends by that, not as replaced', () => {
  const scene = sceneOffTheTick();
  const old = scene.issue(orderForRoom('1'));
  scene.clock.advance(99_750);
  const other = scene.issue(orderForRoom('2'));
  scene.clock.advance(250);
  assert.equal(scene.state(old), 'issued', 'the wheel has not come by');
  scene.connectDevice(other);
  assert.deepEqual(scene.told(old), ['ended timeout']);
});

test('issued again it lives until the later expiry, or the nearer one', () => {
  const later = new LeaseScene('issued');
  later.clock.advance(50_000);
  later.issue();
  later.assertEndsIn(100_000, 'timeout');
  const nearer = new LeaseScene('issued');
  nearer.clock.advance(10_000);
  nearer.issue(callOrder({ callingTimeoutS: 1 }));
  nearer.assertEndsIn(61_000, 'timeout');
});

test('issued again in a call it lives as long as it would have', () => {
  const scene = new LeaseScene('establishing');
  scene.clock.advance(30_000);
  scene.issue(callOrder({ callingTimeoutS: 600 }));
  scene.assertEndsIn(5000, 'lost');
});

test('sessions that end in one turn of the wheel are all written before any is told of', () => {
  const scene = new CallScene();
  const follower = scene.follow();
  for (const room of ['1', '2']) scene.issue(orderForRoom(room));
  scene.clock.advance(100_000);
  assert.deepEqual(follower.told.slice(-2), [
    '1 issued to timeout (now issued) after 2 events',
    '2 issued to timeout (now issued) after 2 events',
  ]);
  assert.equal(scene.directory.size, 0);
});

for (const state of liveCallStates) {
  const keepsWhole = state === 'establishing' || state === 'connected';
  test(`after a restart a call that is ${state} has ${keepsWhole ? 'its whole lease' : 'what is left of its lease'}`, () => {
    const scene = new LeaseScene(state);
    scene.clock.advance(20_000);
    const before = scene.directory.find(scene.sessionId);
    scene.restart(10_000);
    assert.deepEqual(scene.directory.find(scene.sessionId), before);
    assert.equal(scene.directory.countByState()[state], 1);
    assert.equal(scene.directory.hasBridge(scene.sessionId), false);
    scene.assertEndsIn(wholeLeaseMs[state] - (keepsWhole ? 0 : 30_000), endsAs[state]);
  });
}

for (const state of ['issued', 'ringing', 'attempting'] as const)
  test(`a call that was ${state} and whose time passed while no process ran ends at the first turn, told once`, () => {
    const scene = new LeaseScene(state);
    scene.restart(3_600_000);
    assert.equal(scene.state(scene.sessionId), state);
    scene.clock.advance(500);
    assert.equal(scene.state(scene.sessionId), null);
    const told = scene.told(scene.sessionId);
    assert.deepEqual(
      told.filter((words) => words.startsWith('ended')),
      ['ended timeout'],
    );
  });

test('after a restart the legs come back, and no connect counts as the first again', () => {
  const scene = new LeaseScene('establishing');
  scene.restart();
  scene.clock.advance(30_000);
  scene.connectBridge(scene.sessionId);
  scene.connectDevice(scene.sessionId, 'token');
  scene.assertEndsIn(5000, 'lost');
});

test('a restart takes up every session, tells no follower of them, and finds them issued again', () => {
  const scene = new CallScene();
  const sessions = ['1', '2', '3'].map((room) => scene.issue(orderForRoom(room)));
  scene.restart();
  assert.equal(scene.directory.size, 3);
  const follower = scene.follow();
  const result = scene.directory.issue(orderForRoom('2'));
  assert.ok(result.kind === 'renewed');
  assert.equal(result.session.sessionId, sessions[1]);
  assert.deepEqual(follower.told, []);
});

test('a store that cannot be read keeps the directory from resuming', () => {
  const scene = new CallScene();
  scene.records.failure = new Error('the disk is gone');
  assert.throws(() => scene.directory.resume(), /the disk is gone/);
});
