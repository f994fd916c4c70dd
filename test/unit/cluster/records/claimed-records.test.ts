import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claimMsMax } from '../../../../src/model/limits.ts';
import { device, OwnershipScene } from '../../../support/ownership-scene.ts';

async function oneNode() {
  const scene = new OwnershipScene();
  const a = scene.start('A');
  await scene.untilIdle();
  return { scene, a };
}

test('a login is committed when it has its slot', async () => {
  const { scene, a } = await oneNode();
  scene.way(a).rows.withhold();
  a.login(device, 'signal', 's1');
  const order: string[] = [];
  void a.records.signal.committed(device)?.then(() => order.push(`committed ${a.takings.length}`));
  await scene.untilIdle();
  assert.deepEqual(order, []);
  scene.way(a).rows.release();
  await scene.untilIdle();
  assert.deepEqual(order, ['committed 1']);
  assert.equal(a.records.signal.committed(device), null);
});

test('a login waits no longer for its slot than so', async () => {
  const { scene, a } = await oneNode();
  scene.way(a).rows.withhold();
  a.login(device, 'signal', 's1');
  let isCommitted = false;
  void a.records.signal.committed(device)?.then(() => (isCommitted = true));
  await scene.pass(claimMsMax - 1);
  assert.equal(isCommitted, false);
  await scene.pass(1);
  assert.equal(isCommitted, true);
});

test('a login does not wait for a NATS that is away, or goes', async () => {
  const { scene, a } = await oneNode();
  scene.way(a).rows.withhold();
  a.login(device, 'sleep', 's1');
  let isCommitted = false;
  void a.records.sleep.committed(device)?.then(() => (isCommitted = true));
  scene.cut(a);
  await scene.untilIdle();
  assert.equal(isCommitted, true);
  a.login(device, 'signal', 's2');
  assert.equal(a.records.signal.committed(device), null);
});
