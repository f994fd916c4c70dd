/**
 * What breaks presence elsewhere, each by its name: what a backend is answered, and told, when an old connection and
 * a new one, a clock and a store get in each other's way. What holds for both kinds of connection is tried on both.
 * Source: decisions.md, Connectivity; events.md, The log.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { disconnectDevice } from '../../../../src/core/devices/disconnect-device.ts';
import { queryConnectivity } from '../../../../src/core/devices/query-connectivity.ts';
import { HeartbeatSaver } from '../../../../src/core/devices/heartbeat-saver.ts';
import { testApp, testDevice } from '../../../support/fakes.ts';
import { SessionScene } from '../../../support/session-scene.ts';

const kinds = ['sleep', 'signal'] as const;
const hourMs = 3_600_000;

function wallSecondsOf({ clock }: SessionScene): number {
  return Math.floor(clock.wallMs() / 1000);
}

for (const kind of kinds) {
  test(`${kind}: the late close of a replaced socket ends nothing and is not told`, () => {
    const scene = new SessionScene();
    const old = scene[kind].login();
    old.heartbeat();
    scene.clock.advance(10_000);
    scene[kind].login();
    const times = scene[kind].times();
    const nowS = wallSecondsOf(scene);
    assert.deepEqual(times, { lastLoginAt: nowS, lastHeartbeatAt: nowS - 10, lastOfflineAt: null });
    scene.clock.advance(10_000);
    old.heartbeat();
    for (const reason of ['peer_closed', 'reset', 'heartbeat_timeout'] as const) old.end(reason);
    assert.equal(scene[kind].epoch(), 2);
    assert.deepEqual(scene[kind].times(), times);
    assert.deepEqual(scene[kind].history(), ['opened 1', 'replaced 2']);
  });

  test(`${kind}: replaced and timed out in the same tick, the login first: the new session stays`, () => {
    const scene = new SessionScene();
    const nowS = wallSecondsOf(scene);
    const old = scene[kind].login();
    const young = scene[kind].login();
    old.end('heartbeat_timeout');
    assert.equal(scene[kind].epoch(), 2);
    assert.deepEqual(scene[kind].history(), ['opened 1', 'replaced 2']);
    assert.deepEqual([old.closes, young.closes], [['replaced'], []]);
    assert.deepEqual(scene[kind].times(), { lastLoginAt: nowS, lastHeartbeatAt: null, lastOfflineAt: null });
  });

  test(`${kind}: replaced and timed out in the same tick, the timeout first: one end, one new session`, () => {
    const scene = new SessionScene();
    const nowS = wallSecondsOf(scene);
    const old = scene[kind].login();
    old.end('heartbeat_timeout');
    scene[kind].login();
    assert.equal(scene[kind].epoch(), 2);
    assert.deepEqual(scene[kind].history(), ['opened 1', 'closed 1 heartbeat_timeout', 'opened 2']);
    assert.deepEqual(old.closes, [], 'its gateway has closed it already');
    assert.deepEqual(scene[kind].times(), { lastLoginAt: nowS, lastHeartbeatAt: null, lastOfflineAt: nowS });
  });

  test(`${kind}: a login while the offline event is being written is answered once both are committed`, async () => {
    const scene = new SessionScene();
    const nowS = wallSecondsOf(scene);
    let commit = (): void => undefined;
    scene[kind].login().end('reset');
    scene[kind].records.outstanding = new Promise((resolve) => (commit = resolve));
    scene.clock.advance(1000);
    scene[kind].login();
    const answer = queryConnectivity(scene.deps, testApp, testDevice);
    assert.ok(answer instanceof Promise);
    commit();
    const told = await answer;
    assert.ok(told.ok);
    assert.equal(told.value[kind].lastLoginAt, nowS + 1);
    assert.equal(told.value[kind].lastOfflineAt, nowS);
    assert.equal(told.value.signal.isOnline, kind === 'signal');
    assert.deepEqual(scene[kind].history(), ['opened 1', 'closed 1 reset', 'opened 2']);
  });

  test(`${kind}: an offline event that is never written is answered 50401 after 2 s, and not with half of it`, async () => {
    const scene = new SessionScene();
    scene[kind].login().end('reset');
    scene[kind].records.outstanding = new Promise(() => undefined);
    scene[kind].login();
    const answer = queryConnectivity(scene.deps, testApp, testDevice);
    scene.clock.advance(2000);
    const told = await answer;
    assert.ok(!told.ok);
    assert.equal(told.error.code, 50401);
  });

  test(`${kind}: a reconnect from another address is one device with one session, and the old path's timeout is nothing`, () => {
    const scene = new SessionScene();
    const overWifi = scene[kind].login();
    overWifi.heartbeat();
    scene.clock.advance(60_000);
    // Nothing of the old path's end is heard when the address changes: it stays open until its heartbeats are missed.
    const overMobile = scene[kind].login();
    overMobile.heartbeat();
    const times = scene[kind].times();
    scene.clock.advance(90_000);
    overWifi.end('heartbeat_timeout');
    assert.deepEqual([overWifi.closes, overMobile.closes], [['replaced'], []]);
    assert.equal(scene.directory.size, 1);
    assert.equal(scene[kind].epoch(), overMobile.epoch);
    assert.deepEqual(scene[kind].times(), times);
  });

  test(`${kind}: login, heartbeat and offline in the same millisecond are all there, in their order`, () => {
    const scene = new SessionScene();
    const [nowMs, nowS] = [scene.clock.wallMs(), wallSecondsOf(scene)];
    for (let round = 0; round < 3; round++) {
      const peer = scene[kind].login();
      peer.heartbeat();
      peer.end('peer_closed');
    }
    scene[kind].login();
    assert.deepEqual(scene[kind].times(), { lastLoginAt: nowS, lastHeartbeatAt: nowS, lastOfflineAt: nowS });
    assert.equal(scene.isOnline(), kind === 'signal', 'equal stamps do not decide who is online');
    assert.ok(scene.events.every(({ atMs }) => atMs === nowMs));
    assert.deepEqual(
      scene[kind].history(),
      [1, 2, 3].flatMap((n) => [`opened ${n}`, `closed ${n} peer_closed`]).concat('opened 4'),
    );
  });

  for (const stepMs of [hourMs, -hourMs])
    test(`${kind}: a wall clock that steps by ${stepMs / hourMs} h ends no session, and its stamps are as it said`, () => {
      const scene = new SessionScene();
      const loginS = wallSecondsOf(scene);
      const peer = scene[kind].login();
      peer.heartbeat();
      scene.clock.stepWall(stepMs);
      new HeartbeatSaver(scene.directory).saveAll();
      assert.equal(scene[kind].epoch(), 1);
      assert.equal(scene.isOnline(), kind === 'signal');
      peer.heartbeat();
      const steppedS = loginS + stepMs / 1000;
      const open = { lastLoginAt: loginS, lastHeartbeatAt: steppedS, lastOfflineAt: null };
      assert.deepEqual(scene[kind].times(), open);
      peer.end('peer_closed');
      assert.equal(scene.isOnline(), false);
      assert.deepEqual(scene[kind].times(), { ...open, lastOfflineAt: steppedS });
      scene.clock.stepWall(-stepMs);
      scene[kind].login();
      assert.equal(scene.isOnline(), kind === 'signal', 'a login older or younger than the last offline');
      assert.deepEqual(scene[kind].history(), ['opened 1', 'closed 1 peer_closed', 'opened 2']);
      assert.deepEqual(
        scene.events.map(({ atMs }) => Math.floor(atMs / 1000)),
        [loginS, steppedS, loginS],
      );
    });

  test(`${kind}: a heartbeat and the close in one read: the heartbeat is known before the end, and stays`, () => {
    const scene = new SessionScene();
    const nowS = wallSecondsOf(scene);
    const peer = scene[kind].login();
    scene.clock.advance(50_000);
    peer.heartbeat();
    peer.end('peer_closed');
    const { writes } = scene[kind].records;
    assert.deepEqual(scene[kind].times(), {
      lastLoginAt: nowS,
      lastHeartbeatAt: nowS + 50,
      lastOfflineAt: nowS + 50,
    });
    assert.equal(writes.length, 2, 'the login, and the end with its heartbeat');
  });

  test(`${kind}: kicked and closed by the peer at once is one end, and the first word counts`, () => {
    const scene = new SessionScene();
    const peer = scene[kind].login();
    disconnectDevice(scene.deps, testDevice, 'kicked');
    peer.end('peer_closed');
    const again = scene[kind].login();
    again.end('peer_closed');
    disconnectDevice(scene.deps, testDevice, 'kicked');
    assert.deepEqual(scene[kind].history(), [
      'opened 1',
      'closed 1 kicked',
      'opened 2',
      'closed 2 peer_closed',
    ]);
    assert.deepEqual(again.closes, []);
  });

  test(`${kind}: epochs are counted from 1 and go on after a restart, and what the old process had ends nothing`, () => {
    const scene = new SessionScene();
    scene[kind].login();
    const old = scene[kind].login();
    old.end('peer_closed');
    scene.directory = scene.newDirectory();
    const young = scene[kind].login();
    old.end('heartbeat_timeout');
    assert.deepEqual([old.epoch, young.epoch, scene[kind].epoch()], [2, 3, 3]);
    assert.deepEqual(scene[kind].history(), ['opened 1', 'replaced 2', 'closed 2 peer_closed', 'opened 3']);
  });
}

test('signal and sleep count their epochs separately', () => {
  const scene = new SessionScene();
  const sleepEpochs = [1, 2, 3].map(() => scene.sleep.login().epoch);
  const signalEpochs = [1, 2].map(() => scene.signal.login().epoch);
  assert.deepEqual(
    [sleepEpochs, signalEpochs],
    [
      [1, 2, 3],
      [1, 2],
    ],
  );
});

test('an old sleep connection that times out never shows the controller offline, nor the other way round', () => {
  const scene = new SessionScene();
  const module = scene.sleep.login();
  const controller = scene.signal.login();
  module.end('heartbeat_timeout');
  assert.equal(scene.isOnline(), true);
  assert.equal(scene.signal.times().lastOfflineAt, null);
  scene.sleep.login();
  controller.end('heartbeat_timeout');
  assert.equal(scene.isOnline(), false);
  assert.equal(scene.sleep.epoch(), 2);
});
