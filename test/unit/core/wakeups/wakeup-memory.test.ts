import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestId } from '../../../../src/model/ids.ts';
import { submitWakeup } from '../../../../src/core/wakeups/submit-wakeup.ts';
import { WakeupMemory } from '../../../../src/core/wakeups/wakeup-memory.ts';
import { otherApp, testDevice } from '../../../support/fakes.ts';
import { WakeupScene } from '../../../support/wakeup-scene.ts';

const mine = { requestId: 'mine-1' as RequestId };

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
  test(`a repeated signature of a wakeup that is ${status} by now is answered like the first and writes nothing`, async () => {
    const scene = new WakeupScene().sleep();
    const request = scene.request(mine);
    const first = await submitWakeup(scene.deps, request);
    become(scene);
    const before = scene.record('mine-1');
    assert.equal(before?.status, status);
    assert.deepEqual(await submitWakeup(scene.deps, request), first);
    assert.equal(scene.connection.wakes.length, 1);
    assert.deepEqual(scene.record('mine-1'), before);
  });
}

test('a retry of an unknown wakeup under its id is one of its own, and the first goes on', async () => {
  const scene = new WakeupScene().sleep();
  scene.connection.immediately = 'unknown';
  assert.equal(await scene.wake(mine), 50402);
  const unknown = scene.record('mine-1')?.id ?? assert.fail();
  scene.clock.advance(30_000);
  scene.connection.immediately = 'written';
  assert.equal(await scene.wake(mine), 0);
  assert.equal(scene.watch.size, 2);
  scene.clock.advance(10_000);
  scene.comeOnline();
  assert.equal(scene.record('mine-1')?.wokeAfterMs, 10_000);
  assert.equal(scene.records.records.get(unknown)?.record.wokeAfterMs, 40_000);
  assert.deepEqual(scene.told(), ['accepted mine-1', 'completed mine-1', 'completed mine-1']);
});

test('two wakeups of one id that are awaited when the process dies are both taken up', async () => {
  const scene = new WakeupScene().sleep();
  await scene.wake(mine);
  scene.clock.advance(1000);
  await scene.wake(mine);
  scene.restart();
  assert.equal(scene.watch.size, 2);
  scene.comeOnline();
  assert.deepEqual(scene.told().slice(2), ['completed mine-1', 'completed mine-1']);
});

test('a repeat by signature under another request id is answered like the first, and nothing is kept of it', async () => {
  const scene = new WakeupScene().sleep();
  const request = scene.request(mine);
  await submitWakeup(scene.deps, request);
  const repeat = { ...request, requestId: 'mine-2' as RequestId };
  assert.equal((await submitWakeup(scene.deps, repeat)).ok, true);
  assert.equal(scene.record('mine-2'), null);
});

test('applications have their ids to themselves', async () => {
  const scene = new WakeupScene().sleep();
  scene.shareProduct();
  await scene.wake(mine);
  assert.equal(await scene.wake({ ...mine, appId: otherApp }), 0);
  assert.notEqual(scene.record('mine-1')?.id, scene.record('mine-1', otherApp)?.id);
});

test('what other members have accepted takes no room from this one, and what comes beyond is not taken in', () => {
  const scene = new WakeupScene();
  const memory = new WakeupMemory(scene.records, scene.clock, 1);
  const receipt = { deviceId: testDevice, acceptedAtMs: 5 };
  const accepted = [scene.request(), scene.request()].map(({ signature, signatureExpiresMs }) => {
    return { signature, signatureExpiresMs, receipt };
  });
  for (const wakeup of accepted) memory.noteAccepted(wakeup);
  assert.equal(memory.hasRoomFor(scene.request()), true);
  assert.deepEqual(
    accepted.map((wakeup) => memory.repeated(wakeup)),
    [{ ok: true, value: receipt }, null],
  );
  scene.clock.advance(302_000);
  assert.deepEqual(
    accepted.map((wakeup) => memory.repeated(wakeup)),
    [null, null],
  );
});
