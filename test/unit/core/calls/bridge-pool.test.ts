import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionId } from '../../../../src/model/ids.ts';
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

test('a call that goes on without ever having had a bridge still waits for one', () => {
  const scene = new PoolScene();
  const call = scene.newCall();
  const device = scene.connectDevice(call);
  scene.directory.report(call, 'device', device, progress('attempting'));
  assert.deepEqual(scene.newBridge().asked, [call]);
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
