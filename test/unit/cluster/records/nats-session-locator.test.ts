import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deviceHash } from '../../../../src/cluster/nats/nats-names.ts';
import { heartbeatPartKeptMs } from '../../../../src/cluster/records/row-limits.ts';
import { heartbeatsWriteMs } from '../../../../src/model/limits.ts';
import { SharedStateUnavailable } from '../../../../src/core/ports/session-locator.ts';
import { device, OwnershipScene } from '../../../support/ownership-scene.ts';

async function twoNodes() {
  const scene = new OwnershipScene();
  const [a, b] = [scene.start('A'), scene.start('B')];
  await scene.untilIdle();
  return { scene, a, b };
}

test('what is kept of a device has its heartbeat, as its owner has written it down', async () => {
  const { scene, a, b } = await twoNodes();
  a.login(device, 'sleep', 's1');
  await scene.untilIdle();
  a.recordHeartbeat(device, 'sleep', 1_800_000_000);
  for (let part = 0; part < 64; part++) await scene.pass(heartbeatsWriteMs / 64);
  const { sleep } = await b.ownership.locator.findKept(device, 1000);
  assert.equal(sleep.lastHeartbeatAt, 1_800_000_000);
});

test('a part that many ask about is read once in a while', async () => {
  const { scene, a, b } = await twoNodes();
  a.login(device, 'sleep', 's1');
  await scene.untilIdle();
  const { heartbeats } = scene.way(b);
  const before = heartbeats.reads;
  for (let asked = 0; asked < 10; asked++) await b.ownership.locator.findKept(device, 1000);
  assert.equal(heartbeats.reads - before, 1);
  await scene.pass(heartbeatPartKeptMs);
  await b.ownership.locator.findKept(device, 1000);
  assert.equal(heartbeats.reads - before, 2);
});

test('a NATS that is away, or does not answer in time, or answers with nonsense, is said to be away', async () => {
  const { scene, a, b } = await twoNodes();
  const { rows } = scene.way(a);
  rows.withhold();
  const late = assert.rejects(
    Promise.resolve(a.ownership.locator.find(device, 1000)),
    SharedStateUnavailable,
  );
  await scene.pass(1000);
  await late;
  scene.cut(a);
  await assert.rejects(Promise.resolve(a.ownership.locator.findKept(device, 1000)), SharedStateUnavailable);
  scene.rows.write(deviceHash(device), Buffer.from('not a row'));
  await assert.rejects(Promise.resolve(b.ownership.locator.find(device, 1000)), SharedStateUnavailable);
});
