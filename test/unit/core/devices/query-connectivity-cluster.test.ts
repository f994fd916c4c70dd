/** Connectivity of devices that may be at other members. Source: cluster.md, Record and the failure table. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConnectivityRecord } from '../../../../src/model/connectivity.ts';
import { connectivityQueryMsMax, ownerQueryMsMax } from '../../../../src/model/limits.ts';
import { otherApp, testDevice } from '../../../support/fakes.ts';
import { ClusterScene, now, untilIdle } from '../../../support/cluster-scene.ts';
import { queryConnectivity } from '../../../../src/core/devices/query-connectivity.ts';

const never = { lastLoginAt: null, lastHeartbeatAt: null, lastOfflineAt: null };

function wallS({ clock }: ClusterScene): number {
  return Math.floor(clock.wallMs() / 1000);
}

async function recordAt(scene: ClusterScene, place: number): Promise<ConnectivityRecord> {
  const answer = await scene.member(place).query();
  assert.ok(typeof answer === 'object', 'the query is answered with a record');
  return answer;
}

test('any member answers for a device at another, with the latest heartbeat', async () => {
  const scene = new ClusterScene();
  const loginS = wallS(scene);
  const { connection } = scene.member(0).connectController();
  scene.clock.advance(40_000);
  connection.lastHeartbeatAt = wallS(scene);
  const times = { lastLoginAt: loginS, lastHeartbeatAt: loginS + 40, lastOfflineAt: null };
  for (const place of [0, 1, 2])
    assert.deepEqual(await recordAt(scene, place), {
      deviceId: testDevice,
      signal: { isOnline: true, ...times },
      sleep: never,
    });
});

test('times of sleep are the latest over all of its sessions, and their members are asked at once', async () => {
  const scene = new ClusterScene(['n1', 'n2', 'n3', 'n4']);
  const sessions = [0, 1, 2].map((place) => {
    scene.clock.advance(1000);
    return scene.member(place).sleep();
  });
  const loginS = wallS(scene);
  for (const [place, heartbeatAt] of [loginS + 5, loginS + 30, loginS + 7].entries())
    Object.assign(sessions[place]?.connection ?? {}, { lastHeartbeatAt: heartbeatAt });
  const answer = scene.member(3).query();
  assert.equal(scene.network.asked.length, 0);
  for (let turns = 0; turns < 4; turns += 1) await Promise.resolve();
  assert.equal(scene.network.asked.length, 3);
  const told = await answer;
  assert.ok(typeof told === 'object');
  assert.deepEqual(told.sleep, { lastLoginAt: loginS, lastHeartbeatAt: loginS + 30, lastOfflineAt: null });
});

test('no member responds and the record has no session: the record, code 0', async () => {
  const scene = new ClusterScene();
  const { session } = scene.member(0).connectController();
  scene.clock.advance(5000);
  scene.member(0).end('signal', session);
  scene.network.leave(scene.member(0).id);
  const { signal } = await recordAt(scene, 1);
  assert.deepEqual([signal.isOnline, signal.lastOfflineAt], [false, wallS(scene)]);
  assert.equal(scene.network.asked.length, 0, 'nobody is to be asked');
});

for (const fault of ['unwakeable', 'dead'] as const) {
  test(`no member responds (${fault}) and the record has a live owner: the record as last stored`, async () => {
    const scene = new ClusterScene();
    scene.member(0).connectController();
    scene.network.fault(scene.member(0).id, fault);
    const { signal } = await recordAt(scene, 1);
    assert.equal(signal.isOnline, true, 'until its end is in the log');
    assert.equal(scene.shared.keptFinds, 1);
    assert.equal(scene.clock.pendingTimers, 3, 'the watches alone');
  });

  test(`no member responds (${fault}), the record has a live owner, and cannot be read: 50301 at once`, async () => {
    const scene = new ClusterScene();
    scene.member(0).connectController();
    scene.network.fault(scene.member(0).id, fault);
    scene.shared.keptFault = 'away';
    assert.equal(await scene.member(1).query(), 50301);
  });
}

test("NATS away, the device's session is here: served, with what the others had seen of it", async () => {
  const scene = new ClusterScene();
  const { connection, session } = scene.member(0).connectController();
  connection.lastHeartbeatAt = wallS(scene);
  scene.member(0).end('signal', session);
  const offlineS = wallS(scene);
  scene.clock.advance(7000);
  scene.member(1).connectController();
  scene.shared.fault = 'away';
  assert.deepEqual((await recordAt(scene, 1)).signal, {
    isOnline: true,
    lastLoginAt: offlineS + 7,
    lastHeartbeatAt: offlineS,
    lastOfflineAt: offlineS,
  });
});

test('NATS away, the session is elsewhere or unknown: 50301', async () => {
  const scene = new ClusterScene();
  scene.member(0).connectController();
  scene.shared.fault = 'away';
  assert.equal(await scene.member(1).query(), 50301);
});

test('NATS away in silence: a device that is here is served after the wait for a member, another 50401 after 2 s', async () => {
  const scene = new ClusterScene();
  scene.member(0).connectController();
  scene.shared.fault = 'slow';
  const [here, elsewhere] = [scene.member(0).query(), scene.member(1).query()];
  await untilIdle();
  scene.clock.advance(ownerQueryMsMax);
  assert.ok(typeof (await now(here)) === 'object');
  assert.equal(await now(elsewhere), 'still waiting');
  scene.clock.advance(connectivityQueryMsMax - ownerQueryMsMax);
  assert.equal(await now(elsewhere), 50401);
});

test('NATS is slow, the device sleeps here and is online elsewhere: it is not called offline', async () => {
  const scene = new ClusterScene();
  scene.member(0).connectController();
  scene.member(1).sleep();
  scene.shared.fault = 'slow';
  const answer = scene.member(1).query();
  await untilIdle();
  scene.clock.advance(connectivityQueryMsMax - 1);
  assert.equal(await now(answer), 'still waiting');
  scene.clock.advance(1);
  assert.equal(await now(answer), 50401);
});

for (const fault of ['stopped', 'unreachable'] as const)
  test(`an owner that is ${fault} and does not answer in 1.0 s: the record as last stored`, async () => {
    const scene = new ClusterScene();
    scene.member(0).connectController();
    scene.network.fault(scene.member(0).id, fault);
    const answer = scene.member(1).query();
    await untilIdle();
    scene.clock.advance(ownerQueryMsMax - 1);
    assert.equal(await now(answer), 'still waiting');
    scene.clock.advance(1);
    assert.ok(typeof (await now(answer)) === 'object');
    assert.equal(scene.shared.keptFinds, 1);
  });

test('an owner does not answer, and neither does the record: 50401 2.0 s after the start', async () => {
  const scene = new ClusterScene();
  scene.member(0).connectController();
  scene.network.fault(scene.member(0).id, 'stopped');
  scene.shared.keptFault = 'slow';
  const answer = scene.member(1).query();
  await untilIdle();
  scene.clock.advance(ownerQueryMsMax);
  await untilIdle();
  scene.clock.advance(connectivityQueryMsMax - ownerQueryMsMax - 1);
  assert.equal(await now(answer), 'still waiting');
  scene.clock.advance(1);
  assert.equal(await now(answer), 50401);
});

test('unreadable rows are 50301, never an empty record, and logged', async () => {
  const scene = new ClusterScene();
  scene.shared.fault = 'broken';
  assert.equal(await scene.member(0).query(), 50301);
  assert.equal(scene.member(0).log.lines.length, 1);
});

test('a local session whose row is not yet committed is seen once its record is', async () => {
  const scene = new ClusterScene();
  const member = scene.member(0);
  member.connectController({ isCommitted: false });
  assert.equal((await recordAt(scene, 0)).signal.isOnline, true, 'the actor knows');
  let commit = (): void => undefined;
  member.signalRecords.outstanding = new Promise((resolve) => (commit = resolve));
  const answer = member.query();
  assert.equal(await now(answer), 'still waiting');
  commit();
  assert.ok(typeof (await answer) === 'object');
});

test('a local session that has ended is not online, though its row is behind', async () => {
  const scene = new ClusterScene();
  const { session } = scene.member(0).connectController();
  scene.member(0).end('signal', session, { isCommitted: false });
  const { signal } = await recordAt(scene, 0);
  assert.deepEqual([signal.isOnline, signal.lastOfflineAt], [false, wallS(scene)]);
});

test('an owner that no longer has the session: the row is read again, and the new owner asked', async () => {
  const scene = new ClusterScene();
  scene.member(0).connectController();
  const heartbeatAt = wallS(scene) + 60;
  // It moves right after the first lookup: the asked member has been superseded by then.
  scene.shared.beforeFind = () => {
    scene.shared.beforeFind = () => undefined;
    queueMicrotask(() => {
      scene.member(1).connectController().connection.lastHeartbeatAt = heartbeatAt;
    });
  };
  assert.equal((await recordAt(scene, 2)).signal.lastHeartbeatAt, heartbeatAt);
  assert.equal(scene.shared.finds, 2);
});

test('access is checked at the receiving member, and no other is asked', async () => {
  const scene = new ClusterScene();
  scene.member(0).connectController();
  const { deps } = scene.member(1);
  const denied = await queryConnectivity(deps, otherApp, testDevice);
  assert.equal(denied.ok ? 0 : denied.error.code, 40302);
  assert.equal(scene.network.asked.length, 0);
});
