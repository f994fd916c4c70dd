import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deviceHash } from '../../../../src/cluster/nats/nats-names.ts';
import { beatPartKeptMs } from '../../../../src/cluster/records/row-limits.ts';
import { beatsWriteMs } from '../../../../src/model/limits.ts';
import { SharedStateAway } from '../../../../src/core/ports/whereabouts.ts';
import { device, OwnershipScene } from '../../../support/ownership-scene.ts';

async function twoNodes() {
  const scene = new OwnershipScene();
  const [a, b] = [scene.start('A'), scene.start('B')];
  await scene.settle();
  return { scene, a, b };
}

test('a node finds where a device is, whichever node it is at', async () => {
  const { scene, a, b } = await twoNodes();
  a.login(device, 'sleep', 's1');
  await scene.settle();
  const { sleep, signal } = await b.ownership.whereabouts.find(device, 1000);
  assert.deepEqual(
    sleep.seats.map(({ member, epoch }) => [member, epoch]),
    [[a.member, 1]],
  );
  assert.deepEqual(signal.seats, []);
});

test('what is kept of a device has its heartbeat, as its owner has written it down', async () => {
  const { scene, a, b } = await twoNodes();
  a.login(device, 'sleep', 's1');
  await scene.settle();
  a.hears(device, 'sleep', 1_800_000_000);
  for (let part = 0; part < 64; part++) await scene.pass(beatsWriteMs / 64);
  const { sleep } = await b.ownership.whereabouts.findKept(device, 1000);
  assert.equal(sleep.lastHeartbeatAt, 1_800_000_000);
});

test('a part that many ask about is read once in a while', async () => {
  const { scene, a, b } = await twoNodes();
  a.login(device, 'sleep', 's1');
  await scene.settle();
  const { beats } = scene.way(b);
  const before = beats.reads;
  for (let asked = 0; asked < 10; asked++) await b.ownership.whereabouts.findKept(device, 1000);
  assert.equal(beats.reads - before, 1);
  await scene.pass(beatPartKeptMs);
  await b.ownership.whereabouts.findKept(device, 1000);
  assert.equal(beats.reads - before, 2);
});

test('a NATS that is away, or does not answer in time, or answers with nonsense, is said to be away', async () => {
  const { scene, a, b } = await twoNodes();
  const { rows } = scene.way(a);
  rows.hold();
  const late = assert.rejects(Promise.resolve(a.ownership.whereabouts.find(device, 1000)), SharedStateAway);
  await scene.pass(1000);
  await late;
  scene.cut(a);
  await assert.rejects(Promise.resolve(a.ownership.whereabouts.findKept(device, 1000)), SharedStateAway);
  scene.rows.write(deviceHash(device), Buffer.from('not a row'));
  await assert.rejects(Promise.resolve(b.ownership.whereabouts.find(device, 1000)), SharedStateAway);
});
