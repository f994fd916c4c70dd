import assert from 'node:assert/strict';
import { test } from 'node:test';
import { disconnectDevice } from '../../../src/core/devices/disconnect-device.ts';
import type { DeviceId } from '../../../src/model/ids.ts';
import { edgeAwayMsMax, edgeWakeMarginMs } from '../../../src/model/sleep.ts';
import { EdgeScene, untilIdle } from '../../support/edge-scene.ts';
import { testDevice } from '../../support/fakes.ts';

function connectionOf({ core }: EdgeScene, deviceId = testDevice) {
  const connection = core.directory.find(deviceId)?.connection('sleep');
  assert.ok(connection !== null && connection !== undefined, 'the device has a sleep session');
  return connection;
}

test('the core admits a login at an edge, and has its connection', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge().link();
  const module = await edge.login();
  assert.deepEqual(scene.history(), ['opened 1']);
  assert.equal(module.ticket.epoch, 1);
  assert.equal(scene.core.directory.find(testDevice)?.session('sleep'), module.ticket.sessionId);
  assert.deepEqual([connectionOf(scene).isOpen, scene.gate.sessionCount], [true, 1]);
});

test('a wrong proof is denied, and a login at a full server is busy', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge().link();
  assert.equal((await edge.login({ secret: 'wrong' })).answer, 'denied');
  assert.equal((await edge.login({ hasRoom: false })).answer, 'busy');
  assert.equal(scene.gate.sessionCount, 0);
});

test('all edges together stay below the setting, and each below its own limit', async () => {
  const scene = new EdgeScene(2);
  for (const deviceId of ['D2', 'D3'] as DeviceId[]) scene.core.registry.addDevice({ deviceId });
  const first = await scene.edge({ name: 'edge-1', maxSessions: 1 }).link();
  const second = await scene.edge({ name: 'edge-2', instance: 'instance-2' }).link();
  await first.login();
  assert.equal((await first.login({ deviceId: 'D2' as DeviceId })).answer, 'busy');
  assert.equal((await second.login({ deviceId: 'D2' as DeviceId })).ticket.epoch, 1);
  assert.equal((await second.login({ deviceId: 'D3' as DeviceId })).answer, 'busy');
  assert.equal(scene.gate.sessionCount, 2);
});

test('a login that the core cannot verify is busy, and the core logs it', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge().link();
  scene.core.sleepRecords.failure = new Error('the store is gone');
  assert.equal((await edge.login()).answer, 'busy');
  assert.equal(scene.core.log.lines.at(-1)?.level, 'error');
});

test('a login at another edge replaces the session, and the older connection is closed', async () => {
  const scene = new EdgeScene();
  const first = await scene.edge().link();
  const second = await scene.edge({ name: 'edge-2', instance: 'instance-2' }).link();
  const older = await first.login();
  await scene.pass(2000);
  const newer = await second.login();
  assert.deepEqual(scene.history(), ['opened 1', 'replaced 2']);
  assert.deepEqual([older.connection.closes, newer.connection.closes], [['replaced'], []]);
  await first.hangUp(older);
  assert.deepEqual(scene.history(), ['opened 1', 'replaced 2']);
  assert.deepEqual(
    scene.gate.edges().map(({ sessions }) => sessions),
    [0, 1],
  );
});

test('a session ends at the core with the reason and the last heartbeat of the edge', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge().link();
  const module = await edge.login();
  await scene.pass(3000);
  module.connection.lastHeartbeatAt = Math.floor(scene.core.clock.wallMs() / 1000);
  await edge.hangUp(module, 'reset');
  assert.deepEqual(scene.history(), ['opened 1', 'closed 1 reset']);
  assert.equal(scene.core.sleep.times().lastHeartbeatAt, module.connection.lastHeartbeatAt);
  assert.equal(edge.end.sessionCount + scene.gate.sessionCount, 0);
});

test('heartbeats are sent once a second with their second, and times in the future count as now', async () => {
  const scene = new EdgeScene();
  scene.core.registry.addDevice({ deviceId: 'D2' as DeviceId });
  const edge = await scene.edge().link();
  const [module, other] = [await edge.login(), await edge.login({ deviceId: 'D2' as DeviceId })];
  const nowS = Math.floor(scene.core.clock.wallMs() / 1000);
  module.connection.lastHeartbeatAt = nowS;
  other.connection.lastHeartbeatAt = nowS + 3600;
  assert.equal(connectionOf(scene).lastHeartbeatAt, 0);
  await scene.pass(1000);
  assert.equal(connectionOf(scene).lastHeartbeatAt, nowS);
  assert.equal(connectionOf(scene, 'D2' as DeviceId).lastHeartbeatAt, nowS + 1);
});

test('a wakeup is written by the edge, and its result is the answer', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge().link();
  const { connection } = await edge.login();
  for (const result of ['written', 'busy', 'unknown', 'refused'] as const) {
    connection.immediately = result;
    const woken = connectionOf(scene).wake(Buffer.of(0x12, 0xab));
    assert.equal(await woken, result);
  }
  assert.deepEqual(connection.wakes, Array(4).fill(Buffer.of(0x12, 0xab)));
});

test('a wakeup that the edge does not answer is unknown after the write deadline and a margin', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge().link();
  const { connection } = await edge.login();
  connection.immediately = null;
  let result = '';
  void connectionOf(scene)
    .wake(null)
    .then((woken) => (result = woken));
  await scene.pass(1000);
  assert.equal(result, '');
  await scene.pass(edgeWakeMarginMs + 100);
  assert.equal(result, 'unknown');
  connection.completeWakes('written');
  await untilIdle();
});

test('a pending wakeup is unknown when the link is cut, and the next one finds the edge unreachable', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge({}, false).link();
  const { connection } = await edge.login();
  connection.immediately = null;
  const linked = connectionOf(scene);
  const woken = linked.wake(null);
  await untilIdle();
  await edge.cut();
  assert.equal(await woken, 'unknown');
  assert.equal(await linked.wake(null), 'unreachable');
  assert.deepEqual(
    scene.gate.edges().map(({ state }) => state),
    ['away'],
  );
});

test('a close by the core reaches the edge, and the connection takes no wakeup any more', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge().link();
  const { connection } = await edge.login();
  const linked = connectionOf(scene);
  linked.close('kicked');
  assert.deepEqual([linked.isOpen, await linked.wake(null)], [false, 'refused']);
  await untilIdle();
  assert.deepEqual([connection.closes, edge.end.sessionCount], [['kicked'], 0]);
});

test('sessions of a local edge end as lost when its link ends', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge().link();
  await edge.login();
  const linked = connectionOf(scene);
  await edge.cut();
  assert.deepEqual(scene.history(), ['opened 1', 'closed 1 node_lost']);
  assert.deepEqual([linked.isOpen, scene.gate.edges().length], [false, 0]);
});

test('sessions of a lost local edge end over several turns', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge().link();
  const devices = Array.from({ length: 250 }, (_, n) => `D${n}` as DeviceId);
  for (const deviceId of devices) {
    scene.core.registry.addDevice({ deviceId });
    edge.ask({ deviceId });
  }
  await untilIdle();
  assert.equal(scene.gate.sessionCount, 250);
  await edge.cut();
  for (const deviceId of devices)
    assert.deepEqual(scene.history(deviceId), ['opened 1', 'closed 1 node_lost']);
});

test('sessions of an edge elsewhere survive a cut link for 10 s, and continue when it returns', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge({}, false).link();
  const module = await edge.login();
  await edge.cut();
  const beaten = Math.floor(scene.core.clock.wallMs() / 1000);
  module.connection.lastHeartbeatAt = beaten;
  await scene.pass(edgeAwayMsMax - 1000);
  await edge.link();
  await scene.pass(edgeAwayMsMax);
  assert.deepEqual(scene.history(), ['opened 1']);
  assert.equal(connectionOf(scene).lastHeartbeatAt, beaten);
  assert.equal(await connectionOf(scene).wake(null), 'written');
});

test('sessions of an edge elsewhere end as lost when it does not return in time', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge({}, false).link();
  await edge.login();
  await edge.cut();
  await scene.pass(edgeAwayMsMax - 1000);
  assert.deepEqual(scene.history(), ['opened 1']);
  await scene.pass(1000);
  assert.deepEqual(scene.history(), ['opened 1', 'closed 1 node_lost']);
  assert.deepEqual(scene.gate.edges(), []);
});

test('a session that ended while the link was cut ends with its own reason when the edge returns', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge({}, false).link();
  const module = await edge.login();
  await edge.cut();
  await edge.hangUp(module, 'heartbeat_timeout');
  await edge.link();
  assert.deepEqual(scene.history(), ['opened 1', 'closed 1 heartbeat_timeout']);
  assert.equal(scene.gate.sessionCount, 0);
});

test('a session that the core closed meanwhile is closed at the edge when it returns', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge({}, false).link();
  const module = await edge.login();
  await edge.cut();
  connectionOf(scene).close('kicked');
  await edge.link();
  assert.deepEqual([module.connection.closes, edge.end.sessionCount], [['kicked'], 0]);
});

test('a device that logged in at another edge meanwhile keeps the newer session', async () => {
  const scene = new EdgeScene();
  const away = await scene.edge({}, false).link();
  const other = await scene.edge({ name: 'edge-2', instance: 'instance-2' }).link();
  const older = await away.login();
  await away.cut();
  await scene.pass(2000);
  const newer = await other.login();
  await away.link();
  assert.deepEqual([older.connection.closes, newer.connection.closes], [['replaced'], []]);
  assert.deepEqual(scene.history(), ['opened 1', 'replaced 2']);
});

test('a restarted core resumes the sessions of an edge without an event', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge().link();
  scene.core.registry.addDevice({ deviceId: 'D2' as DeviceId });
  const module = await edge.login();
  const ended = await edge.login({ deviceId: 'D2' as DeviceId });
  void scene.gate.close();
  await untilIdle();
  await edge.hangUp(ended, 'reset');
  await edge.link(scene.restart());
  assert.deepEqual(scene.history(), ['opened 1']);
  assert.deepEqual(scene.history('D2' as DeviceId), ['opened 1', 'closed 1 reset']);
  assert.equal(scene.core.directory.find(testDevice)?.session('sleep'), module.ticket.sessionId);
  assert.equal(await connectionOf(scene).wake(null), 'written');
  await edge.hangUp(module);
  assert.deepEqual(scene.history(), ['opened 1', 'closed 1 peer_closed']);
});

test('a session that is kicked while the core adopts it is closed at its edge', async () => {
  const scene: EdgeScene = new EdgeScene(1000, (sessions) => ({
    ...sessions,
    adopt: (moved, connection) => {
      const ticket = sessions.adopt(moved, connection);
      disconnectDevice(scene.core.deps, moved.deviceId, 'kicked');
      return ticket;
    },
  }));
  const edge = await scene.edge().link();
  const module = await edge.login();
  void scene.gate.close();
  await untilIdle();
  const gate = scene.restart();
  await edge.link(gate);
  assert.deepEqual(module.connection.closes, ['kicked']);
  assert.deepEqual([gate.sessionCount, edge.end.sessionCount], [0, 0]);
});

test('an edge resumes more sessions than fit into one message', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge().link();
  const devices = Array.from({ length: 950 }, (_, n) => `D${n}` as DeviceId);
  for (const deviceId of devices) {
    scene.core.registry.addDevice({ deviceId });
    edge.ask({ deviceId });
  }
  await untilIdle();
  void scene.gate.close();
  await untilIdle();
  const gate = scene.restart();
  await edge.link(gate);
  await untilIdle();
  assert.equal(gate.sessionCount, 950);
  assert.equal(scene.core.events.length, 950);
});

test('a login waits for the core, and is dropped when the module disconnects', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge().link();
  scene.core.registry.addDevice({ deviceId: 'D2' as DeviceId });
  void scene.gate.close();
  await untilIdle();
  const [waiting, gone] = [edge.ask(), edge.ask({ deviceId: 'D2' as DeviceId })];
  await scene.pass(2000);
  assert.deepEqual([waiting.answer, gone.answer], [null, null]);
  gone.connection.isOpen = false;
  await edge.link(scene.restart());
  assert.equal(waiting.ticket.epoch, 1);
  assert.equal(gone.answer, 'busy');
  assert.deepEqual(scene.history('D2' as DeviceId), []);
});

test('logins of disconnected modules are dropped while the core is away', async () => {
  const scene = new EdgeScene();
  const edge = scene.edge();
  const module = edge.ask();
  module.connection.isOpen = false;
  await scene.pass(1000);
  assert.equal(module.answer, 'busy');
});

test('an unanswered login is sent again after the link was cut', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge({}, false).link();
  const module = edge.ask();
  // The request is sent, and the answer is lost.
  await Promise.all([edge.cut(), untilIdle()]);
  await scene.pass(2000);
  await edge.link();
  assert.equal(scene.core.directory.find(testDevice)?.session('sleep'), module.ticket.sessionId);
  assert.equal(scene.gate.sessionCount, 1);
});

test('a session that ended as lost returns as a login marked as recovered', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge({}, false).link();
  const module = await edge.login();
  const before = module.ticket.sessionId;
  await edge.cut();
  await scene.pass(edgeAwayMsMax);
  await edge.link();
  assert.deepEqual(scene.history(), ['opened 1', 'closed 1 node_lost', 'opened 2']);
  const [, , recovered] = scene.core.events;
  assert.ok(recovered?.type === 'device.sleep.login');
  assert.equal(recovered.data.recovered, true);
  assert.equal(recovered.data.session, module.ticket.sessionId);
  assert.notEqual(module.ticket.sessionId, before);
  assert.equal(await connectionOf(scene).wake(null), 'written');
  await edge.hangUp(module);
  assert.deepEqual(scene.history().at(-1), 'closed 2 peer_closed');
});

test('a session is not recovered when its device has logged in since, or has lost its right', async () => {
  const scene = new EdgeScene();
  const away = await scene.edge({}, false).link();
  const other = await scene.edge({ name: 'edge-2', instance: 'instance-2' }).link();
  scene.core.registry.addDevice({ deviceId: 'D2' as DeviceId });
  const older = await away.login();
  const disabled = await away.login({ deviceId: 'D2' as DeviceId });
  await away.cut();
  await scene.pass(edgeAwayMsMax);
  await other.hangUp(await other.login());
  scene.core.registry.addDevice({ deviceId: 'D2' as DeviceId, disabled: true });
  await away.link();
  assert.deepEqual([older.connection.closes, disabled.connection.closes], [['replaced'], ['kicked']]);
  assert.equal(scene.gate.sessionCount, 0);
  assert.deepEqual(scene.history('D2' as DeviceId), ['opened 1', 'closed 1 node_lost']);
});
