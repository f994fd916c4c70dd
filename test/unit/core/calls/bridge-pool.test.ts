import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApplicationId, SessionId } from '../../../../src/model/ids.ts';
import { progress } from '../../../support/call-scene.ts';
import { otherApp, testApp } from '../../../support/fakes.ts';
import { PoolScene } from '../../../support/pool-scene.ts';

test('a new call is offered at once to the bridge that has been idle longest, and to no other', () => {
  const scene = new PoolScene();
  const [first, second] = [scene.newBridge(), scene.newBridge()];
  const call = scene.newCall();
  assert.deepEqual([first.asked, second.asked], [[call], []]);
  assert.equal(scene.state(call), 'issued', 'asking is not yet a call');
});

test('a bridge that accepts has the call, and is idle no more', () => {
  const scene = new PoolScene();
  const bridge = scene.newBridge();
  const call = scene.newCall();
  bridge.accept();
  assert.equal(bridge.call, call);
  assert.equal(scene.state(call), 'establishing');
  assert.equal(scene.pool.idleCount, 0);
  assert.equal(scene.telemetry.count('bridge answer accepted'), 1);
  scene.newCall();
  assert.deepEqual(bridge.asked, [call], 'it is asked for nothing else');
});

test('a bridge that refuses is followed by the next, and stays idle for other calls as the last', () => {
  const scene = new PoolScene();
  const [first, second, third] = [scene.newBridge(), scene.newBridge(), scene.newBridge()];
  const call = scene.newCall();
  first.refuse();
  assert.deepEqual([first.asked, second.asked, third.asked], [[call], [call], []]);
  assert.equal(scene.telemetry.count('bridge answer refused'), 1);
  second.accept();
  assert.equal(scene.pool.idleCount, 2);
  const [next, last] = [scene.newCall(), scene.newCall()];
  assert.deepEqual([first.asked, third.asked], [[call, last], [next]]);
});

test('a bridge that does not answer within 2 s is followed by the next', () => {
  const scene = new PoolScene();
  const [first, second] = [scene.newBridge(), scene.newBridge()];
  const call = scene.newCall();
  scene.clock.advance(1999);
  assert.deepEqual(second.asked, []);
  scene.clock.advance(1);
  assert.deepEqual(second.asked, [call]);
  assert.equal(scene.telemetry.count('bridge answer unanswered'), 1);
  second.accept();
  assert.equal(second.call, call);
  assert.equal(scene.pool.idleCount, 1, 'the first is still idle');
  const next = scene.newCall();
  assert.deepEqual(first.asked, [call, next]);
});

test('an accept after its time changes nothing', () => {
  const scene = new PoolScene();
  const [late, second] = [scene.newBridge(), scene.newBridge()];
  const call = scene.newCall();
  scene.clock.advance(2000);
  late.accept();
  assert.equal(late.call, null);
  assert.equal(scene.telemetry.count('bridge answer accepted'), 0);
  second.accept();
  assert.equal(second.call, call);
});

test('an answer of a bridge that was asked nothing changes nothing', () => {
  const scene = new PoolScene();
  const bridge = scene.newBridge();
  bridge.accept();
  bridge.refuse();
  assert.equal(scene.pool.idleCount, 1);
  const call = scene.newCall();
  bridge.accept();
  bridge.accept();
  assert.equal(bridge.call, call);
  assert.equal(scene.telemetry.count('bridge answer accepted'), 1);
  assert.equal(scene.telemetry.count('bridge answer refused'), 0);
});

test('a call that everybody refused waits, and nobody is asked about it twice', () => {
  const scene = new PoolScene();
  const [first, second] = [scene.newBridge(), scene.newBridge()];
  const call = scene.newCall();
  first.refuse();
  second.refuse();
  scene.clock.advance(10_000);
  assert.deepEqual([first.asked, second.asked], [[call], [call]]);
  const third = scene.newBridge();
  assert.deepEqual(third.asked, [call]);
});

test('a bridge that becomes idle is asked about the oldest call that waits', () => {
  const scene = new PoolScene();
  const calls = [scene.newCall(), scene.newCall(), scene.newCall()];
  const bridges = calls.map(() => scene.newBridge());
  assert.deepEqual(
    bridges.map(({ asked }) => asked),
    calls.map((call) => [call]),
  );
  for (const bridge of bridges) bridge.accept();
  assert.deepEqual(
    bridges.map(({ call }) => call),
    calls,
  );
});

test('one bridge and two calls: it is asked about the second when it has refused the first', () => {
  const scene = new PoolScene();
  const bridge = scene.newBridge();
  const [first, second] = [scene.newCall(), scene.newCall()];
  assert.deepEqual(bridge.asked, [first]);
  bridge.refuse();
  assert.deepEqual(bridge.asked, [first, second]);
  bridge.accept();
  assert.equal(bridge.call, second);
  assert.deepEqual(scene.newBridge().asked, [first], 'the first goes on waiting');
});

test('a bridge that is gone while it is asked is followed by the next', () => {
  const scene = new PoolScene();
  const [first, second] = [scene.newBridge(), scene.newBridge()];
  const call = scene.newCall();
  first.leave();
  assert.deepEqual(second.asked, [call]);
  assert.equal(scene.telemetry.count('bridge answer gone'), 1);
  assert.equal(scene.pool.idleCount, 1);
  scene.clock.advance(1999);
  second.accept();
  assert.equal(second.call, call, 'the second has a time of its own');
});

test('a bridge that is lost by being asked is followed by the next', () => {
  const scene = new PoolScene();
  const [first, second] = [scene.newBridge(), scene.newBridge()];
  first.leavesWhenAsked = true;
  const call = scene.newCall();
  assert.deepEqual([first.asked, second.asked], [[call], [call]]);
  assert.equal(scene.pool.idleCount, 1);
});

test('an idle bridge that leaves is asked nothing more', () => {
  const scene = new PoolScene();
  const bridge = scene.newBridge();
  bridge.leave();
  scene.newCall();
  assert.deepEqual(bridge.asked, []);
  assert.deepEqual([scene.pool.idleCount, scene.clock.pendingTimers], [0, 1], 'only the wheel turns');
});

test('a bridge lost while its call is establishing: the call is offered again, before younger ones', () => {
  const scene = new PoolScene();
  const refuser = scene.newBridge();
  const call = scene.newCall();
  refuser.refuse();
  const bridge = scene.newBridge();
  bridge.accept();
  refuser.leave();
  const younger = scene.newCall();
  bridge.leave();
  const [next, last] = [scene.newBridge(), scene.newBridge()];
  assert.deepEqual([next.asked, last.asked], [[call], [younger]]);
});

test('who refused a call is not asked again when the call has lost its bridge', () => {
  const scene = new PoolScene();
  const refuser = scene.newBridge();
  const call = scene.newCall();
  refuser.refuse();
  const bridge = scene.newBridge();
  bridge.accept();
  bridge.leave();
  assert.deepEqual(refuser.asked, [call]);
});

test('a bridge lost later than establishing is waited for: nobody else is asked', () => {
  const scene = new PoolScene();
  const bridge = scene.newBridge();
  const call = scene.newCall();
  bridge.accept();
  scene.directory.report(call, 'bridge', bridge.leg, progress('ringing'));
  bridge.leave();
  assert.deepEqual(scene.newBridge().asked, []);
});

test('a call that goes on without ever having had a bridge still waits for one', () => {
  const scene = new PoolScene();
  const call = scene.newCall();
  const device = scene.connectDevice(call);
  scene.directory.report(call, 'device', device, progress('attempting'));
  assert.deepEqual(scene.newBridge().asked, [call]);
});

test('a call that ends while it waits is offered to nobody', () => {
  const scene = new PoolScene();
  const [ended, live] = [scene.newCall(), scene.newCall()];
  scene.directory.end(ended, 'cancelled');
  assert.deepEqual(scene.newBridge().asked, [live]);
});

test('the accept of a call that has ended is answered by nothing, and is not taken for another call’s', () => {
  const scene = new PoolScene();
  const bridge = scene.newBridge();
  const ended = scene.newCall();
  scene.directory.end(ended, 'cancelled');
  const next = scene.newCall();
  assert.deepEqual(bridge.asked, [ended], 'its answer is still on its way');
  bridge.accept();
  assert.equal(bridge.call, null);
  assert.deepEqual(bridge.asked, [ended, next]);
  assert.equal(scene.telemetry.count('bridge answer accepted'), 0);
  assert.equal(scene.telemetry.count('bridge answer gone'), 1);
  bridge.accept();
  assert.equal(bridge.call, next);
});

for (const how of ['refuses', 'says nothing', 'leaves'] as const)
  test(`a bridge that ${how} when the call it was asked about has ended holds up the next no longer`, () => {
    const scene = new PoolScene();
    const bridge = scene.newBridge();
    scene.directory.end(scene.newCall(), 'cancelled');
    const next = scene.newCall();
    if (how === 'refuses') bridge.refuse();
    if (how === 'says nothing') scene.clock.advance(2000);
    if (how === 'leaves') bridge.leave();
    const taker = how === 'leaves' ? scene.newBridge() : bridge;
    assert.equal(taker.asked.at(-1), next);
    assert.equal(scene.telemetry.count('bridge answer gone'), 1);
  });

test('a call whose lease is over when its bridge accepts ends, and the bridge stays idle', () => {
  const scene = new PoolScene();
  const call = scene.newCall();
  // Its lease ends between two turns of the wheel: the directory still has what is over.
  scene.clock.advance(250);
  scene.connectDevice(call);
  scene.clock.advance(34_999);
  const bridge = scene.newBridge();
  scene.clock.advance(1);
  assert.ok(scene.directory.find(call) !== null);
  bridge.accept();
  assert.deepEqual([bridge.call, scene.state(call)], [null, null]);
  assert.deepEqual(scene.told(call), ['started establishing', 'ended lost']);
  assert.equal(scene.pool.idleCount, 1);
  assert.deepEqual(bridge.asked, [call, scene.newCall()]);
});

test('a bridge that comes for a call by itself ends the asking of others', () => {
  const scene = new PoolScene();
  const bridge = scene.newBridge();
  const call = scene.newCall();
  scene.pool.served(call);
  const comer = scene.connectBridge(call);
  bridge.accept();
  assert.equal(bridge.call, null);
  assert.deepEqual(comer.closes, []);
  assert.equal(scene.telemetry.count('bridge answer gone'), 1);
  assert.deepEqual(scene.newBridge().asked, []);
});

test('a call whose bridge came by itself is offered when that one is lost', () => {
  const scene = new PoolScene();
  const call = scene.newCall();
  scene.pool.served(call);
  const comer = scene.connectBridge(call);
  scene.directory.disconnected(call, 'bridge', comer);
  assert.deepEqual(scene.newBridge().asked, [call]);
});

test('assignment by device: a call is offered when its device connects, and not before', () => {
  const scene = new PoolScene('device');
  const bridge = scene.newBridge();
  const call = scene.newCall();
  assert.deepEqual(bridge.asked, []);
  scene.connectDevice(call);
  assert.deepEqual(bridge.asked, [call]);
  scene.connectDevice(call);
  assert.deepEqual(bridge.asked, [call], 'a second connect of the device is no second offer');
});

test('assignment by device: calls that wait are served in the order of their making', () => {
  const scene = new PoolScene('device');
  const calls = [scene.newCall(), scene.newCall(), scene.newCall()];
  for (const call of calls.toReversed()) scene.connectDevice(call);
  assert.deepEqual(
    calls.map(() => scene.newBridge().asked),
    calls.map((call) => [call]),
  );
});

test('assignment by device: a bridge that came by itself is enough, and when it is lost the call is offered', () => {
  const scene = new PoolScene('device');
  const bridge = scene.newBridge();
  const call = scene.newCall();
  scene.pool.served(call);
  const comer = scene.connectBridge(call);
  scene.connectDevice(call);
  assert.deepEqual(bridge.asked, []);
  scene.directory.disconnected(call, 'bridge', comer);
  assert.deepEqual(bridge.asked, [call]);
});

test('a bridge is asked about calls of its applications only', () => {
  const scene = new PoolScene();
  const mine = scene.newBridge([testApp]);
  const call = scene.newCall(otherApp);
  assert.deepEqual(mine.asked, []);
  assert.deepEqual(scene.newBridge([testApp]).asked, []);
  assert.deepEqual(scene.newBridge([testApp, otherApp]).asked, [call]);
});

test('a bridge of several applications, or of all, is asked about the oldest call of any of them', () => {
  const scene = new PoolScene();
  const third = 'third' as ApplicationId;
  const calls = [
    scene.newCall(third),
    scene.newCall(otherApp),
    scene.newCall(testApp),
    scene.newCall(testApp),
  ];
  const taken = [[testApp, otherApp], [testApp, otherApp], [otherApp], null, null].map((appIds) => {
    const bridge = scene.newBridge(appIds);
    bridge.accept();
    return bridge.call;
  });
  assert.deepEqual(taken, [calls[1], calls[2], null, calls[0], calls[3]]);
});

test('of the bridges of an application and those of all, the one that has been idle longest is asked', () => {
  const scene = new PoolScene();
  const bridges = [null, [testApp], null, [testApp, otherApp]].map((appIds) => scene.newBridge(appIds));
  const calls = bridges.map(() => scene.newCall());
  assert.deepEqual(
    bridges.map(({ asked }) => asked),
    calls.map((call) => [call]),
  );
});

test('a bridge whose applications are named twice is still one bridge', () => {
  const scene = new PoolScene();
  const bridge = scene.newBridge([testApp, otherApp, testApp]);
  bridge.leave();
  assert.deepEqual([scene.pool.hasIdleFor(testApp), scene.pool.hasIdleFor(otherApp)], [false, false]);
  scene.newCall();
  assert.deepEqual(bridge.asked, []);
});

test('there is an idle bridge for an application while one of its own, or of all, is not being asked', () => {
  const scene = new PoolScene();
  const has = (): boolean[] => [scene.pool.hasIdleFor(testApp), scene.pool.hasIdleFor(otherApp)];
  assert.deepEqual(has(), [false, false]);
  const bridge = scene.newBridge([testApp]);
  assert.deepEqual(has(), [true, false]);
  scene.newCall();
  assert.deepEqual(has(), [false, false]);
  assert.equal(scene.pool.idleCount, 1, 'that is asked is idle as yet');
  const any = scene.newBridge(null);
  assert.deepEqual(has(), [true, true]);
  any.leave();
  bridge.refuse();
  assert.deepEqual(has(), [true, false]);
});

const resumed: { name: string; bring: (scene: PoolScene, call: SessionId) => void; offered: boolean }[] = [
  { name: 'was issued', bring: () => {}, offered: true },
  {
    name: 'was establishing with its device',
    bring: (scene, call) => void scene.connectDevice(call),
    offered: true,
  },
  {
    name: 'was establishing with its bridge',
    bring: (scene, call) => void scene.connectBridge(call),
    offered: true,
  },
  {
    name: 'rang with its bridge',
    bring: (scene, call) =>
      scene.directory.report(call, 'bridge', scene.connectBridge(call), progress('ringing')),
    offered: false,
  },
  {
    name: 'was accepted by its device without ever having had a bridge',
    bring: (scene, call) =>
      scene.directory.report(call, 'device', scene.connectDevice(call), progress('attempting')),
    offered: true,
  },
];
for (const { name, bring, offered } of resumed)
  test(`after a restart a call that ${name} is ${offered ? 'offered' : 'not offered'}`, () => {
    const scene = new PoolScene();
    const call = scene.newCall();
    bring(scene, call);
    scene.restart(1000);
    assert.deepEqual(scene.newBridge().asked, offered ? [call] : []);
  });

test('after a restart, by device, what was only issued is offered when its device connects', () => {
  const scene = new PoolScene('device');
  const call = scene.newCall();
  scene.restart(1000);
  const bridge = scene.newBridge();
  assert.deepEqual(bridge.asked, []);
  scene.connectDevice(call);
  assert.deepEqual(bridge.asked, [call]);
});

test('after a restart the calls are offered in the order of their making, and new ones after them', () => {
  const scene = new PoolScene();
  const calls = [0, 1, 2].map(() => {
    scene.clock.advance(10);
    return scene.newCall();
  });
  // As a store lists them: by device, not by age.
  const listed = Array.from(scene.records.records).toReversed();
  scene.records.records.clear();
  for (const [deviceId, sessions] of listed) scene.records.records.set(deviceId, sessions);
  scene.restart(1000);
  calls.push(scene.newCall());
  assert.deepEqual(
    calls.map(() => scene.newBridge().asked),
    calls.map((call) => [call]),
  );
});
