/**
 * Known failure modes of presence, each by name: the answers and events for a backend when an old connection and a new one, a clock
 * and a store race. Rules for both kinds of connection are tested with both. Source: decisions.md, Connectivity; events.md, The
 * log.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
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
  test(`${kind}: the late close of a replaced socket ends nothing and causes no event`, () => {
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

  test(`${kind}: a reconnect from another address is one device with one session, and the old path's timeout is nothing`, () => {
    const scene = new SessionScene();
    const overWifi = scene[kind].login();
    overWifi.heartbeat();
    scene.clock.advance(60_000);
    // The end of the old path is not signalled: it stays open until its heartbeats are missed.
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

  test(`${kind}: login, heartbeat and offline in the same millisecond are all recorded, in order`, () => {
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
    test(`${kind}: a wall clock step of ${stepMs / hourMs} h ends no session, and times follow the clock`, () => {
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

  test(`${kind}: a heartbeat and the close in one read: the heartbeat is recorded before the end, and stays`, () => {
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
}
