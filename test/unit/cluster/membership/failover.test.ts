import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceId } from '../../../../src/model/ids.ts';
import { heartbeatsWriteMs } from '../../../../src/model/limits.ts';
import { OwnershipScene, type OwningNode } from '../../../support/ownership-scene.ts';

const devices = Array.from({ length: 40 }, (_, index) => `DEVICE-${index}` as DeviceId);

async function threeNodes() {
  const scene = new OwnershipScene();
  const [a, b, c] = [scene.start('A'), scene.start('B'), scene.start('C')];
  await scene.untilIdle();
  return { scene, a, b, c };
}

/** Every part is written down, and then written again. */
async function rounds(scene: OwnershipScene, count: number): Promise<void> {
  for (let parts = 0; parts < count * 64; parts++) await scene.pass(heartbeatsWriteMs / 64);
}

function lostOf(scene: OwnershipScene): string[] {
  const lost = scene.log.events.filter(({ data }) => 'reason' in data && data.reason === 'node_lost');
  return lost.map(({ data }) => ('session' in data ? data.session : '')).toSorted();
}

function loginAll(node: OwningNode): string[] {
  return devices.map((deviceId, index) => node.login(deviceId, 'sleep', `s${index}`)).toSorted();
}

test('sessions of a member that was lost at once are closed', async () => {
  const { scene, a, b } = await threeNodes();
  const sessions = loginAll(a);
  await scene.untilIdle();
  await b.ownership.failOver(a.member);
  assert.deepEqual(lostOf(scene), sessions);
});

test('sessions that were written down, and those that came after, are closed once, whoever fails them over', async () => {
  const { scene, a, b, c } = await threeNodes();
  const sessions = loginAll(a);
  await rounds(scene, 2);
  const later = a.login(devices[0] as DeviceId, 'signal', 'z');
  await scene.untilIdle();
  scene.cut(a);
  await scene.pass(10_000);
  await Promise.all([b.ownership.failOver(a.member), c.ownership.failOver(a.member)]);
  await b.ownership.failOver(a.member);
  assert.deepEqual(lostOf(scene), [...sessions, later].toSorted());
});

test('only rows that changed since the last writing are looked through', async () => {
  const { scene, a, b } = await threeNodes();
  loginAll(b);
  const session = a.login('X' as DeviceId, 'sleep', 'x');
  await rounds(scene, 2);
  const { rows } = scene.way(b);
  const newest = scene.rows.revision;
  scene.cut(a);
  rows.since = (position) => {
    assert.equal(position, newest);
    return scene.rows.open().since(position);
  };
  await b.ownership.failOver(a.member);
  assert.deepEqual(lostOf(scene), [session]);
});

test('the last heartbeat that was written down is in the row of a session that was closed', async () => {
  const { scene, a, b } = await threeNodes();
  const deviceId = 'X' as DeviceId;
  a.login(deviceId, 'sleep', 'x');
  await scene.untilIdle();
  a.recordHeartbeat(deviceId, 'sleep', 1_800_000_000);
  await rounds(scene, 1);
  scene.cut(a);
  await b.ownership.failOver(a.member);
  assert.equal(scene.row(deviceId).sleep.lastHeartbeatAt, 1_800_000_000);
});

/** Each step of NATS that the failover of a few sessions takes is the last one of the member that does it. */
test('a member that dies at any step of a failover leaves no end unpublished: the next one publishes it, once', async () => {
  const few = devices.slice(0, 3);
  for (let steps = 0; steps < 16; steps++)
    for (const publishes of [true, false]) {
      const { scene, a, b, c } = await threeNodes();
      const sessions = few.flatMap((deviceId, index) => [
        a.login(deviceId, 'sleep', `s${index}`),
        a.login(deviceId, 'signal', `t${index}`),
      ]);
      await rounds(scene, 1);
      scene.cut(a);
      scene.way(b).rows.requestsLeft = steps;
      scene.way(b).publishes = publishes;
      void b.ownership.failOver(a.member).catch(() => undefined);
      await scene.untilIdle();
      scene.cut(b);
      await scene.pass(10_000);
      await c.ownership.failOver(a.member);
      await c.ownership.failOver(a.member);
      assert.deepEqual(lostOf(scene), sessions.toSorted(), `${steps} steps`);
    }
});

test('a failover that was stopped ends no session that was claimed again since it began', async () => {
  const { scene, a, b, c } = await threeNodes();
  const deviceId = devices[0] as DeviceId;
  a.login(deviceId, 'sleep', 's');
  await rounds(scene, 1);
  scene.cut(a);
  // It has found the slot, and is stopped before it ends it.
  scene.way(b).rows.requestsLeft = 1;
  const failedOver = b.ownership.failOver(a.member).catch(() => undefined);
  await scene.untilIdle();
  scene.cut(b);
  await c.ownership.failOver(a.member);
  scene.mend(a);
  await scene.pass(1000);
  scene.mend(b);
  await scene.pass(10_000);
  await failedOver;
  assert.deepEqual(scene.log.words, [
    'device.sleep.login 1 A',
    'device.sleep.offline 1 A node_lost',
    'device.sleep.login 2 A recovered',
  ]);
  assert.deepEqual(scene.slots(deviceId, 'sleep'), ['s']);
});

test('a session that came back and died before that was published is published as both', async () => {
  for (const isRestarted of [false, true]) {
    const { scene, a, b } = await threeNodes();
    a.login(devices[0] as DeviceId, 'signal', 's');
    await rounds(scene, 1);
    scene.cut(a);
    await b.ownership.failOver(a.member);
    scene.way(a).publishes = false;
    scene.mend(a);
    await scene.untilIdle();
    if (isRestarted) scene.restart(a);
    else scene.cut(a);
    await scene.pass(1000);
    await b.ownership.failOver(a.member);
    await scene.pass(1000);
    assert.deepEqual(scene.log.words, [
      'device.signal.online 1 A',
      'device.signal.offline 1 A node_lost',
      'device.signal.online 2 A recovered',
      'device.signal.offline 2 A node_lost',
    ]);
  }
});

test('a session that is gone at its member without an end is ended when it is missed twice', async () => {
  const { scene, a } = await threeNodes();
  const deviceId = devices[0] as DeviceId;
  const session = a.login(deviceId, 'sleep', 's');
  await rounds(scene, 1);
  a.superseded(deviceId, session);
  await rounds(scene, 1);
  assert.deepEqual(lostOf(scene), []);
  await rounds(scene, 2);
  assert.deepEqual(lostOf(scene), ['s']);
  assert.deepEqual(scene.slots(deviceId, 'sleep'), []);
});
