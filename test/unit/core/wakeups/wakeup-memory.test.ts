import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestId } from '../../../../src/model/ids.ts';
import { otherApp } from '../../../support/fakes.ts';
import { WakeupScene } from '../../../support/wakeup-scene.ts';

const mine = { requestId: 'mine-1' as RequestId, isCallersId: true };

/** What may have become of an accepted wakeup by the time it is repeated. */
const outcomes: Record<string, (scene: WakeupScene) => void> = {
  accepted: () => undefined,
  completed: (scene) => {
    scene.comeOnline();
    scene.goOffline();
  },
  failed: (scene) => {
    scene.endSleep('reset');
    scene.clock.advance(5500);
    scene.sleep();
  },
  expired: (scene) => scene.clock.advance(60_500),
};
for (const [status, become] of Object.entries(outcomes)) {
  test(`a repeat of a wakeup that is ${status} by now is answered like the first and writes nothing`, async () => {
    const scene = new WakeupScene().sleep();
    assert.equal(await scene.wake(mine), 0);
    become(scene);
    const before = scene.record('mine-1');
    assert.equal(before?.status, status);
    assert.equal(await scene.wake(mine), 0);
    assert.equal(await scene.wake({ ...mine, bodySha256: 'body-2' }), 40003);
    assert.equal(scene.connection.wakes.length, 1);
    assert.deepEqual(scene.record('mine-1'), before);
  });
}

test('a repeat after a restart is answered like the first', async () => {
  const scene = new WakeupScene().sleep();
  await scene.wake(mine);
  scene.restart();
  scene.sleep();
  assert.equal(await scene.wake(mine), 0);
  assert.equal(await scene.wake({ ...mine, bodySha256: 'body-2' }), 40003);
  assert.equal(scene.connection.wakes.length, 1);
});

test('a repeat of an unknown wakeup is done, and takes its place', async () => {
  const scene = new WakeupScene().sleep();
  scene.connection.immediately = 'unknown';
  assert.equal(await scene.wake(mine), 50402);
  scene.clock.advance(30_000);
  scene.connection.immediately = 'written';
  assert.equal(await scene.wake(mine), 0);
  assert.equal(scene.watch.size, 1);
  scene.clock.advance(45_000);
  assert.equal(scene.record('mine-1')?.status, 'accepted', 'the first one has no say any more');
  scene.comeOnline();
  assert.equal(scene.record('mine-1')?.wokeAfterMs, 45_000);
  assert.deepEqual(scene.told(), ['accepted mine-1', 'completed mine-1']);
});

test('a repeat of an unknown wakeup that a login has completed since is done all the same', async () => {
  const scene = new WakeupScene().sleep();
  scene.connection.immediately = 'unknown';
  await scene.wake(mine);
  scene.comeOnline();
  assert.equal(scene.record('mine-1')?.status, 'completed');
  scene.connection.immediately = 'written';
  assert.equal(await scene.wake(mine), 0);
  assert.equal(scene.connection.wakes.length, 2);
  assert.equal(scene.record('mine-1')?.alreadyOnline, true);
});

test('a repeat of an unknown wakeup that cannot be written leaves the first one as it was', async () => {
  const scene = new WakeupScene().sleep();
  scene.connection.immediately = 'unknown';
  await scene.wake(mine);
  scene.connection.immediately = 'refused';
  assert.equal(await scene.wake(mine), 50204);
  scene.comeOnline();
  assert.equal(scene.record('mine-1')?.status, 'completed');
});

test('an unknown wakeup keeps its X-Request-ID for its body', async () => {
  const scene = new WakeupScene().sleep();
  scene.connection.immediately = 'unknown';
  await scene.wake(mine);
  scene.restart();
  assert.equal(await scene.wake({ ...mine, bodySha256: 'body-2' }), 40003);
});

test('an id that the server once made is not the caller’s: used as X-Request-ID it is another wakeup', async () => {
  const scene = new WakeupScene().sleep();
  await scene.wake();
  const borrowed = { requestId: 'made-1' as RequestId, isCallersId: true, bodySha256: 'body-2' };
  assert.equal(await scene.wake(borrowed), 0);
  assert.equal(scene.connection.wakes.length, 2);
  assert.equal(scene.record('made-1')?.bodySha256, 'body-2');
  assert.equal(await scene.wake(borrowed), 0);
  assert.equal(scene.connection.wakes.length, 2);
  scene.comeOnline();
  assert.deepEqual(scene.told(), ['accepted made-1', 'accepted made-1', 'completed made-1']);
});

test('applications do not answer for each other', async () => {
  const scene = new WakeupScene().sleep();
  scene.shareProduct();
  await scene.wake(mine);
  assert.equal(await scene.wake({ ...mine, appId: otherApp, bodySha256: 'body-2' }), 0);
  assert.equal(scene.connection.wakes.length, 2);
});
