import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceId, SessionId, TokenId } from '../../../../src/model/ids.ts';
import { callOrder, CallScene, legWords, orderForRoom } from '../../../support/call-scene.ts';
import { FakeCallLeg, testDevice } from '../../../support/fakes.ts';

const otherDevice = 'TESTDEVICE02' as DeviceId;

test('a new session is kept without an event, and found by its id and its device', () => {
  const scene = new CallScene();
  const follower = scene.follow();
  const result = scene.directory.issue(callOrder());
  assert.ok(result.kind === 'issued');
  const { session } = result;
  assert.equal(session.state, 'issued');
  assert.equal(session.expiresAtMs, scene.clock.wallMs() + 100_000);
  assert.equal(scene.directory.find(session.sessionId), session);
  assert.deepEqual(scene.directory.sessionsOf(testDevice), [session]);
  assert.deepEqual([...scene.directory.sessions()], [session]);
  assert.deepEqual(scene.records.writes, [[session]]);
  assert.deepEqual(scene.records.events, []);
  assert.deepEqual(follower.notifications, ['room-1 issued after 0 events']);
});

test('a full server begins no session, renews those it has, and lets a device change its fifth for another', () => {
  const scene = new CallScene(5);
  for (const room of ['1', '2', '3', '4']) scene.issue(orderForRoom(room));
  scene.issue(callOrder({ deviceId: otherDevice }));
  const newcomer = 'TESTDEVICE03' as DeviceId;
  assert.deepEqual(scene.directory.issue(callOrder({ deviceId: newcomer })), { kind: 'full' });
  assert.equal(scene.directory.issue(callOrder({ deviceId: otherDevice })).kind, 'renewed');
  assert.equal(scene.directory.issue(orderForRoom('5')).kind, 'issued');
  assert.equal(scene.directory.size, 5);
});

test('a device that connects to one session ends its others as replaced, each with its event, before it begins', () => {
  const scene = new CallScene();
  const follower = scene.follow();
  const [first, second, third] = ['1', '2', '3'].map((room) => scene.issue(orderForRoom(room))) as [
    SessionId,
    SessionId,
    SessionId,
  ];
  const foreign = scene.issue(callOrder({ deviceId: otherDevice }));
  const device = scene.connectDevice(first);
  const again = scene.issue(orderForRoom('2'));
  const bridge = scene.connectBridge(again);
  scene.records.events.length = 0;
  follower.notifications.length = 0;
  const ofThird = scene.issue(orderForRoom('3'));
  scene.connectDevice(ofThird);
  assert.deepEqual(
    [scene.callEvents(second), scene.callEvents(third)],
    [[], []],
    'ended when the first was connected to',
  );
  assert.deepEqual(follower.notifications, [
    '3 issued after 0 events',
    '1 establishing to replaced (now establishing) after 3 events',
    '2 establishing to replaced (now establishing) after 3 events',
    '3 issued to establishing (now establishing) after 3 events',
  ]);
  assert.deepEqual(legWords(device), ['ended replaced', 'closed ended']);
  assert.deepEqual(legWords(bridge), ['ended replaced', 'closed ended']);
  assert.deepEqual(
    scene.records.writes.slice(-3).map((left) => left.map(({ room }) => room.roomId).join()),
    ['2,3', '3', '3'],
  );
  assert.equal(scene.state(foreign), 'issued');
});

test('no leg connects to an unknown or ended session', () => {
  const { directory, records } = new CallScene();
  const issued = directory.issue(callOrder());
  assert.ok(issued.kind === 'issued');
  directory.end(issued.session.sessionId, 'cancelled');
  const writes = records.writes.length;
  const leg = new FakeCallLeg();
  for (const sessionId of [issued.session.sessionId, 'unknown' as SessionId]) {
    assert.equal(directory.connectDevice(sessionId, 't' as TokenId, leg), false);
    assert.equal(directory.connectBridge(sessionId, leg), false);
    assert.equal(directory.hasBridge(sessionId), false);
    directory.disconnected(sessionId, 'bridge', leg);
    directory.alive(sessionId, 'bridge', leg, 'media');
  }
  assert.deepEqual(legWords(leg), []);
  assert.equal(records.writes.length, writes);
});

test('the state of a device is committed once its records are', async () => {
  const scene = new CallScene();
  assert.equal(scene.directory.committed(testDevice), null);
  scene.records.outstanding = Promise.resolve();
  await scene.directory.committed(testDevice);
  assert.equal(scene.directory.committed(testDevice), scene.records.outstanding);
});

test('sessions that end in one turn of the wheel are all written before any is announced', () => {
  const scene = new CallScene();
  const follower = scene.follow();
  for (const room of ['1', '2']) scene.issue(orderForRoom(room));
  scene.clock.advance(100_000);
  assert.deepEqual(follower.notifications.slice(-2), [
    '1 issued to timeout (now issued) after 2 events',
    '2 issued to timeout (now issued) after 2 events',
  ]);
  assert.equal(scene.directory.size, 0);
});

test('a store that cannot be read keeps the directory from resuming', () => {
  const scene = new CallScene();
  scene.records.failure = new Error('the disk is gone');
  assert.throws(() => scene.directory.resume(), /the disk is gone/);
});
