import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestId } from '../../../../src/model/ids.ts';
import { wakeupAliasesMax } from '../../../../src/model/wakeup.ts';
import { submitWakeup } from '../../../../src/core/wakeups/submit-wakeup.ts';
import { WakeupMemory } from '../../../../src/core/wakeups/wakeup-memory.ts';
import { otherApp, testApp, testDevice } from '../../../support/fakes.ts';
import { WakeupScene } from '../../../support/wakeup-scene.ts';

const mine = { requestId: 'mine-1' as RequestId };
const other = { requestId: 'mine-2' as RequestId };
const repeatOfMine = { repeatOf: mine.requestId };

/** Outcomes of an accepted wakeup by the time of its repeat. */
const outcomes: Record<string, (scene: WakeupScene) => void> = {
  accepted: () => undefined,
  completed: (scene) => {
    scene.connectController();
    scene.disconnectController();
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
    assert.deepEqual(await submitWakeup(scene.deps, request), { ...first, ...repeatOfMine });
    assert.equal(scene.connection.wakes.length, 1);
    assert.deepEqual(scene.record('mine-1'), before);
  });
}

test('a retry of an unknown wakeup under its id is a wakeup of its own, and the first continues', async () => {
  const scene = new WakeupScene().sleep();
  scene.connection.immediately = 'unknown';
  assert.equal(await scene.wake(mine), 50402);
  const unknown = scene.record('mine-1')?.id ?? assert.fail();
  scene.clock.advance(30_000);
  scene.connection.immediately = 'written';
  assert.equal(await scene.wake(mine), 0);
  assert.equal(scene.watch.size, 2);
  scene.clock.advance(10_000);
  scene.connectController();
  assert.equal(scene.record('mine-1')?.wokeAfterMs, 10_000);
  assert.equal(scene.records.find({ appId: testApp, ...mine, which: unknown })?.wokeAfterMs, 40_000);
  assert.deepEqual(scene.wakeupEvents(), ['accepted mine-1', 'completed mine-1', 'completed mine-1']);
});

test('two awaited wakeups of one id are both resumed after the process dies', async () => {
  const scene = new WakeupScene().sleep();
  await scene.wake(mine);
  scene.clock.advance(1000);
  await scene.wake(mine);
  scene.restart();
  assert.equal(scene.watch.size, 2);
  scene.connectController();
  assert.deepEqual(scene.wakeupEvents().slice(2), ['completed mine-1', 'completed mine-1']);
});

test('a repeat under another request id is answered like the first, and that id is an alias of the first', async () => {
  const scene = new WakeupScene().sleep();
  const request = scene.request(mine);
  const first = await submitWakeup(scene.deps, request);
  for (const _ of [1, 2])
    assert.deepEqual(await submitWakeup(scene.deps, { ...request, ...other }), { ...first, ...repeatOfMine });
  assert.equal(scene.record('mine-2')?.id, scene.record('mine-1')?.id);
  assert.equal(scene.record('mine-2')?.repeatOf, 'mine-1');
  assert.deepEqual([...scene.records.awaited()].length, 1, 'a restart watches the first alone');
  assert.deepEqual(scene.wakeupEvents(), ['accepted mine-1']);
});

test('an exact repeat bears the same request id, is marked, and adds no alias', async () => {
  const scene = new WakeupScene().sleep();
  const request = scene.request(mine);
  await submitWakeup(scene.deps, request);
  assert.equal((await submitWakeup(scene.deps, request)).repeatOf, 'mine-1');
  assert.equal(scene.records.records.size, 1);
  assert.equal(scene.record('mine-1')?.repeatOf, undefined);
});

test('a repeat that joins a wakeup of unknown outcome is an alias of it, and one of a refused write is none', async () => {
  for (const [result, kept] of [
    ['unknown', 2],
    ['refused', 0],
  ] as const) {
    const scene = new WakeupScene().sleep();
    scene.connection.immediately = null;
    const request = scene.request(mine);
    const answers = [request, { ...request, ...other }].map((each) => submitWakeup(scene.deps, each));
    scene.connection.completeWakes(result);
    const [first, second] = await Promise.all(answers);
    assert.ok(first !== undefined && !first.ok);
    assert.deepEqual(second, { ...first, ...repeatOfMine });
    assert.equal(scene.records.records.size, kept);
    assert.equal(scene.record('mine-2')?.status, kept === 0 ? undefined : 'unknown');
  }
});

test('aliases are bounded, and a further repeat is answered alike without one', async () => {
  const scene = new WakeupScene().sleep();
  const request = scene.request(mine);
  await submitWakeup(scene.deps, request);
  const ids = Array.from({ length: wakeupAliasesMax + 1 }, (_, number) => `repeat-${number}` as RequestId);
  for (const requestId of ids)
    assert.equal((await submitWakeup(scene.deps, { ...request, requestId })).repeatOf, 'mine-1');
  assert.deepEqual(
    ids.map((id) => scene.record(id)?.repeatOf),
    [...ids.slice(1).map(() => 'mine-1'), undefined],
  );
});

test('a full store of wakeups keeps no alias, and answers the repeat', async () => {
  const scene = new WakeupScene().sleep();
  const request = scene.request(mine);
  await submitWakeup(scene.deps, request);
  scene.records.full = true;
  const repeat = await submitWakeup(scene.deps, { ...request, ...other });
  assert.deepEqual([repeat.ok, repeat.repeatOf, scene.record('mine-2')], [true, 'mine-1', null]);
});

test('a wake report that names the request id of a repeat adds its cause to the first', async () => {
  const scene = new WakeupScene().sleep();
  const request = scene.request(mine);
  for (const each of [request, { ...request, ...other }]) await submitWakeup(scene.deps, each);
  const session = scene.connectController();
  scene.watch.reported(testDevice, session, { ...other, cause: 'remote' });
  assert.equal(scene.record('mine-1')?.cause, 'remote');
});

test('request ids are scoped to their application', async () => {
  const scene = new WakeupScene().sleep();
  scene.shareProduct();
  await scene.wake(mine);
  assert.equal(await scene.wake({ ...mine, appId: otherApp }), 0);
  assert.notEqual(scene.record('mine-1')?.id, scene.record('mine-1', otherApp)?.id);
});

test('wakeups of other members take no room from this one, and are ignored beyond their bound', () => {
  const scene = new WakeupScene();
  const memory = new WakeupMemory(scene.records, scene.clock, 1);
  const receipt = { deviceId: testDevice, acceptedAtMs: 5 };
  const wakeup = { requestId: 'first' as RequestId, id: null, aliases: [] };
  const accepted = [scene.request(), scene.request()].map(({ signature, signatureExpiresMs }) => {
    return { signature, signatureExpiresMs, receipt, wakeup };
  });
  for (const wakeup of accepted) memory.recordAccepted(wakeup);
  assert.equal(memory.hasRoomFor(scene.request()), true);
  assert.deepEqual(
    accepted.map((wakeup) => memory.repeated(wakeup)),
    [{ ok: true, value: receipt, wakeup }, null],
  );
  scene.clock.advance(302_000);
  assert.deepEqual(
    accepted.map((wakeup) => memory.repeated(wakeup)),
    [null, null],
  );
});
