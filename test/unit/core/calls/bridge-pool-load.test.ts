/** Calls that a media process cannot carry: they wait, and are offered again when it reports its load. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TokenId } from '../../../../src/model/ids.ts';
import { loadOffersMax } from '../../../../src/model/limits.ts';
import { FakeCallLeg } from '../../../support/fakes.ts';
import type { FakeBridge } from '../../../support/pool-scene.ts';
import { PoolScene } from '../../../support/pool-scene.ts';

/** A bridge for all applications, whose media process refuses the calls it is asked about. */
function loadedBridge(scene: PoolScene, process = 0): FakeBridge {
  return scene.newBridge(null, process);
}

test('a call refused for load waits, and is offered to its bridge again when the media process reports its load', () => {
  const scene = new PoolScene();
  const bridge = loadedBridge(scene);
  const call = scene.newCall();
  bridge.cannotCarry('load');
  assert.equal(scene.pool.waitsFor(call), 'load');
  assert.deepEqual(bridge.asked, [call]);
  scene.pool.offerAgain(0);
  assert.deepEqual(bridge.asked, [call, call]);
  bridge.accept();
  assert.deepEqual([bridge.call, scene.pool.waitsFor(call)], [call, null]);
});

test('between two load reports nothing is offered, however long that is', () => {
  const scene = new PoolScene();
  const bridge = loadedBridge(scene);
  const call = scene.newCall();
  bridge.cannotCarry('load');
  scene.clock.advance(10_000);
  const second = loadedBridge(scene);
  assert.deepEqual(
    [bridge.asked, second.asked],
    [[call], []],
    'another bridge of that process would hear the same',
  );
});

test('calls refused for load are offered oldest first, and each once per load report', () => {
  const scene = new PoolScene();
  const bridge = loadedBridge(scene);
  const calls = [scene.newCall(), scene.newCall(), scene.newCall()];
  for (const _ of calls) bridge.cannotCarry('load');
  assert.deepEqual(bridge.asked, calls);
  scene.pool.offerAgain(0);
  for (const _ of calls) bridge.cannotCarry('load');
  assert.deepEqual(bridge.asked, [...calls, ...calls]);
  bridge.accept();
  assert.equal(bridge.call, null, 'it was asked nothing more');
});

test('a call that is too large for the room does not block smaller ones behind it', () => {
  const scene = new PoolScene();
  const bridge = loadedBridge(scene);
  const [large, small] = [scene.newCall(), scene.newCall()];
  bridge.cannotCarry('load');
  bridge.cannotCarry('load');
  scene.pool.offerAgain(0);
  bridge.cannotCarry('load');
  bridge.accept();
  assert.deepEqual([bridge.call, scene.pool.waitsFor(large)], [small, 'load']);
});

test('beyond the bound the calls take turns: none starves', () => {
  const scene = new PoolScene();
  const bridge = loadedBridge(scene);
  const calls = Array.from({ length: loadOffersMax + 2 }, () => scene.newCall());
  for (const _ of calls) bridge.cannotCarry('load');
  bridge.asked.length = 0;
  scene.pool.offerAgain(0);
  for (let n = 0; n < loadOffersMax; n += 1) bridge.cannotCarry('load');
  assert.deepEqual(bridge.asked, calls.slice(0, loadOffersMax));
  scene.pool.offerAgain(0);
  assert.equal(bridge.asked.length, loadOffersMax + 1);
  for (let n = 0; n < loadOffersMax; n += 1) bridge.cannotCarry('load');
  assert.deepEqual(bridge.asked.slice(loadOffersMax, loadOffersMax * 2).slice(-2), calls.slice(-2));
});

test('a bridge of another media process is offered it at once', () => {
  const scene = new PoolScene();
  const [full, other] = [loadedBridge(scene), loadedBridge(scene, 1)];
  const call = scene.newCall();
  full.cannotCarry('load');
  assert.deepEqual(other.asked, [call]);
  other.accept();
  assert.equal(other.call, call);
  assert.equal(scene.pool.idleCount, 1);
});

test("a refusal for load is not the bridge's: it keeps its place, and is asked about the next call", () => {
  const scene = new PoolScene();
  const [first, second] = [loadedBridge(scene), loadedBridge(scene, 1)];
  scene.newCall();
  first.cannotCarry('load');
  const next = scene.newCall();
  assert.equal(first.asked.at(-1), next);
  assert.equal(second.asked.length, 1);
  assert.equal(scene.telemetry.count('bridge answer load'), 1);
});

test('a media process without a decoder is not asked again; its successor is', () => {
  const scene = new PoolScene();
  const bridge = loadedBridge(scene);
  const call = scene.newCall();
  bridge.cannotCarry('engine');
  scene.pool.offerAgain(0);
  assert.deepEqual([bridge.asked, scene.pool.waitsFor(call)], [[call], 'engine']);
  bridge.leave();
  scene.pool.processLost(0);
  assert.equal(scene.pool.waitsFor(call), 'bridge');
  assert.deepEqual(loadedBridge(scene).asked, [call]);
});

test('waiting calls are counted by reason, and each that waits for load is logged', () => {
  const scene = new PoolScene();
  const bridge = loadedBridge(scene);
  const calls = [scene.newCall(), scene.newCall()];
  bridge.cannotCarry('load');
  bridge.refuse();
  assert.deepEqual(scene.pool.countWaiting(), { bridge: 1, load: 1, engine: 0 });
  scene.pool.offerAgain(0);
  bridge.cannotCarry('load');
  const lines = scene.log.lines.filter(({ message }) => message.startsWith('call waits'));
  assert.deepEqual(
    lines.map(({ fields }) => fields),
    [{ session: calls[0], why: 'load' }],
    'and no second one when it is refused again',
  );
});

test('a call that waits for load is removed at its end', () => {
  const scene = new PoolScene();
  const bridge = loadedBridge(scene);
  const call = scene.newCall();
  bridge.cannotCarry('load');
  scene.directory.end(call, 'cancelled');
  scene.pool.offerAgain(0);
  assert.deepEqual([bridge.asked, scene.pool.waitsFor(call)], [[call], null]);
});

test('bridges of the preferred media process of the call are asked first', () => {
  const scene = new PoolScene();
  const [here, there] = [loadedBridge(scene), loadedBridge(scene, 1)];
  scene.placement.processes = [1, 0];
  const call = scene.newCall();
  assert.deepEqual([here.asked, there.asked], [[], [call]]);
  assert.equal(scene.placement.expected.get(call), 1);
  there.refuse();
  assert.deepEqual(here.asked, [call], 'while no leg of it has come');
  assert.equal(scene.placement.expected.get(call), 1, 'its device was sent there');
});

test('when a device connects while a bridge of another media process is asked, a bridge of its own process gets the call', () => {
  const scene = new PoolScene();
  const there = loadedBridge(scene, 1);
  const call = scene.newCall();
  scene.placement.held.set(call, 0);
  scene.directory.connectDevice(call, 'token-1' as TokenId, new FakeCallLeg(0));
  there.accept();
  assert.deepEqual([there.call, scene.pool.waitsFor(call)], [null, 'bridge']);
  const [stranger, here] = [loadedBridge(scene, 1), loadedBridge(scene)];
  assert.deepEqual([stranger.asked, here.asked], [[], [call]]);
  here.accept();
  assert.equal(here.call, call);
});

test('a call that is offered when its device connects is placed where a bridge is idle', () => {
  const scene = new PoolScene('device');
  const there = loadedBridge(scene, 1);
  const call = scene.newCall();
  assert.deepEqual([scene.placement.expected.get(call), there.asked], [1, []]);
});
