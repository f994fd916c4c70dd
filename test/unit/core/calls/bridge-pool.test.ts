import assert from 'node:assert/strict';
import { test } from 'node:test';
import { otherApp, testApp } from '../../../support/fakes.ts';
import { PoolScene } from '../../../support/pool-scene.ts';

test('a new call is offered at once to the bridge that has been idle longest, and to no other', () => {
  const scene = new PoolScene();
  const [first, second] = [scene.newBridge(), scene.newBridge()];
  const call = scene.newCall();
  assert.deepEqual([first.asked, second.asked], [[call], []]);
  assert.equal(scene.state(call), 'issued', 'asking is not yet a call');
});

test('a bridge that accepts gets the call, and is no longer idle', () => {
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

test('a call with an expired lease ends when its bridge accepts, and the bridge stays idle', () => {
  const scene = new PoolScene();
  const call = scene.newCall();
  // The lease expires between two turns of the wheel: the directory still has the call.
  scene.clock.advance(250);
  scene.connectDevice(call);
  scene.clock.advance(34_999);
  const bridge = scene.newBridge();
  scene.clock.advance(1);
  assert.ok(scene.directory.find(call) !== null);
  bridge.accept();
  assert.deepEqual([bridge.call, scene.state(call)], [null, null]);
  assert.deepEqual(scene.callEvents(call), ['started establishing', 'ended lost']);
  assert.equal(scene.pool.idleCount, 1);
  assert.deepEqual(bridge.asked, [call, scene.newCall()]);
});

test('a bridge with a duplicate application is still one bridge', () => {
  const scene = new PoolScene();
  const bridge = scene.newBridge([testApp, otherApp, testApp]);
  bridge.leave();
  assert.deepEqual([scene.pool.hasIdleFor(testApp), scene.pool.hasIdleFor(otherApp)], [false, false]);
  scene.newCall();
  assert.deepEqual(bridge.asked, []);
});
