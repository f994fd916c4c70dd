/** What a member answers to the others, and what it does about what it is told. Source: cluster.md. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { submitWakeup } from '../../../../src/core/wakeups/submit-wakeup.ts';
import { succeed } from '../../../../src/lib/result.ts';
import type { DeviceId, RequestId, SessionId } from '../../../../src/model/ids.ts';
import type { PeerKind, PeerQuestion } from '../../../../src/protocol/cluster/peer-message.ts';
import { disconnectEverywhere } from '../../../../src/cluster/ownership/disconnect-everywhere.ts';
import { testDevice } from '../../../support/fakes.ts';
import { ClusterScene, untilIdle } from '../../../support/cluster-scene.ts';

const nobody = 'NOBODY' as DeviceId;

/** Asks the first member as the second, and fails when there is no answer. */
async function ask<Kind extends PeerKind>(
  scene: ClusterScene,
  question: PeerQuestion<Kind>,
): Promise<unknown> {
  const asked = await scene.member(1).peers.ask<Kind>(scene.member(0).id, question, 1000);
  assert.ok(asked.ok, 'there is an answer');
  return asked.value;
}

test('heartbeats are those of the sessions that are here, 0 before the first', async () => {
  const scene = new ClusterScene();
  const module = scene.member(0).sleep();
  module.connection.lastHeartbeatAt = 1_795_163_500;
  const heartbeats = (...deviceIds: DeviceId[]): Promise<unknown> =>
    ask(scene, { kind: 'heartbeats', deviceIds });
  const sleep = { session: module.session, heartbeatAt: 1_795_163_500 };
  assert.deepEqual(await heartbeats(testDevice), [{ sleep, signal: null }]);
  const controller = scene.member(0).connectController();
  const signal = { session: controller.session, heartbeatAt: 0 };
  const none = { sleep: null, signal: null };
  assert.deepEqual(await heartbeats(nobody, testDevice, nobody), [none, { sleep, signal }, none]);
});

test('a write is for one session: another one is absent, a module that cannot take it unwakeable', async () => {
  const scene = new ClusterScene();
  const { session, connection } = scene.member(0).sleep({ wakeMode: 'fixed' });
  const write = (
    of: SessionId,
    customData: Uint8Array | null = null,
    deviceId = testDevice,
  ): Promise<unknown> => ask(scene, { kind: 'write', deviceId, session: of, customData });
  assert.equal(await write(session), 'written');
  assert.equal(await write('session-9' as SessionId), 'absent');
  assert.equal(await write(session, null, nobody), 'absent');
  assert.equal(await write(session, Buffer.from([1, 2])), 'unwakeable');
  connection.immediately = 'refused';
  assert.equal(await write(session), 'refused');
  assert.equal(connection.wakes.length, 2);
});

test('a fault behind a wakeup or a message is answered 50000, and the log says what it was', async () => {
  const scene = new ClusterScene();
  const member = scene.member(0);
  member.sleep();
  member.connectController().connection.deliver = () => Promise.reject(new Error('planted'));
  member.telemetry.failOnWakeup = new Error('planted');
  assert.equal(await scene.member(1).wake(), 50000);
  assert.equal(await scene.member(1).send(), 50000);
  assert.equal(member.log.lines.length, 2);
});

test('a superseded session closes', async () => {
  const scene = new ClusterScene();
  const { session, connection } = scene.member(0).sleep();
  const about = { kind: 'superseded', connection: 'sleep', deviceId: testDevice } as const;
  scene.member(1).peers.notify(scene.member(0).id, { ...about, session: 'session-9' as SessionId });
  await untilIdle();
  assert.deepEqual(connection.closes, [], 'it speaks of another');
  scene.member(1).peers.notify(scene.member(0).id, { ...about, session });
  await untilIdle();
  assert.deepEqual(connection.closes, ['replaced']);
});

test('repeats of several accepted wakeups are answered like them by whoever was told', async () => {
  const scene = new ClusterScene();
  const requests = [scene.wakeup(), scene.wakeup()];
  const repeatOf = 'first' as RequestId;
  const wakeups = requests.map(({ signature, signatureExpiresMs }, place) => {
    const receipt = { deviceId: testDevice, acceptedAtMs: place };
    return { signature, signatureExpiresMs, receipt, wakeup: { requestId: repeatOf, id: null, aliases: [] } };
  });
  scene.member(1).peers.notify('everybody', { kind: 'wakeups-accepted', wakeups });
  await untilIdle();
  const { deps } = scene.member(0);
  const answers = await Promise.all(requests.map((request) => submitWakeup(deps, request)));
  assert.deepEqual(
    answers,
    wakeups.map(({ receipt }) => ({ ...succeed(receipt), repeatOf })),
  );
});

test('a device is disconnected at every member that has a session of it, and what was ended is told', async () => {
  const scene = new ClusterScene();
  const modules = [0, 1].map((place) => scene.member(place).sleep().connection);
  const controller = scene.member(2).connectController().connection;
  assert.deepEqual(await disconnectEverywhere(scene.member(0).deps, testDevice), ['signal', 'sleep']);
  for (const { closes } of [...modules, controller]) assert.deepEqual(closes, ['kicked']);
  for (const member of scene.members) member.commit();
  assert.deepEqual(await disconnectEverywhere(scene.member(0).deps, testDevice), []);
});

test('a member that cannot be reached keeps its session, and it is not told as ended', async () => {
  const scene = new ClusterScene();
  const controller = scene.member(1).connectController().connection;
  scene.member(0).sleep();
  scene.network.fault(scene.member(1).id, 'unwakeable');
  assert.deepEqual(await disconnectEverywhere(scene.member(0).deps, testDevice), ['sleep']);
  assert.deepEqual(controller.closes, []);
  scene.shared.fault = 'away';
  assert.deepEqual(await disconnectEverywhere(scene.member(0).deps, testDevice), []);
  assert.equal(scene.member(0).log.lines.length, 1);
});

test('alone, a device is disconnected here', async () => {
  const scene = new ClusterScene(['n1']);
  scene.member(0).sleep();
  const deps = { ...scene.member(0).deps, cluster: null };
  assert.deepEqual(await disconnectEverywhere(deps, testDevice), ['sleep']);
});

test('who takes a slot tells those whose sessions it has superseded, and nobody of its own', async () => {
  const scene = new ClusterScene();
  const first = scene.member(0).connectController();
  const second = scene.member(0).connectController();
  await untilIdle();
  assert.deepEqual(scene.network.notices, [], 'its own session was closed when the next was let in');
  scene.member(1).connectController();
  await untilIdle();
  assert.deepEqual(
    scene.network.notices.map(({ to, what }) => [to, what]),
    [
      [
        scene.member(0).id,
        { kind: 'superseded', connection: 'signal', deviceId: testDevice, session: second.session },
      ],
    ],
  );
  assert.deepEqual([first.connection.closes, second.connection.closes], [['replaced'], ['replaced']]);
  assert.equal(scene.member(0).directory.size, 0);
});

test('a session that has lost its slot closes as replaced, and its end is not told', async () => {
  const scene = new ClusterScene();
  const { session, connection } = scene.member(0).connectController();
  const events = scene.shared.log.head;
  scene.member(0).slots.lost({ connection: 'signal', deviceId: testDevice, session });
  scene.member(0).commit();
  assert.deepEqual(connection.closes, ['replaced']);
  assert.equal(scene.shared.log.head, events);
});
