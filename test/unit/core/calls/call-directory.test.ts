import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallReport } from '../../../../src/model/call.ts';
import type { DeviceId, SessionId, TokenId } from '../../../../src/model/ids.ts';
import {
  callMedia,
  callOrder,
  callRoom,
  CallScene,
  legWords,
  orderForRoom,
  progress,
} from '../../../support/call-scene.ts';
import { FakeCallLeg, otherApp, testDevice } from '../../../support/fakes.ts';

const otherDevice = 'TESTDEVICE02' as DeviceId;
const otherMedia = { ...callMedia, downVideo: 'h264' } as const;
const hangup: CallReport = { kind: 'end', reason: 'hangup_phone' };

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
  assert.deepEqual(follower.told, ['room-1 issued after 0 events']);
});

test('asked again for the same application, device and room, the session is the same, with the latest values', () => {
  const scene = new CallScene();
  const follower = scene.follow();
  const sessionId = scene.issue();
  scene.clock.advance(2000);
  const room = { ...callRoom, sessionKey: 'later-key' };
  const result = scene.directory.issue(callOrder({ room, callingTimeoutS: 60 }));
  assert.ok(result.kind === 'renewed');
  assert.equal(result.session.sessionId, sessionId);
  assert.equal(result.session.room, room);
  assert.equal(result.session.expiresAtMs, scene.clock.wallMs() + 120_000);
  assert.deepEqual(scene.records.records.get(testDevice), [result.session]);
  assert.deepEqual(follower.told, ['room-1 issued after 0 events']);
});

const others = [
  { what: 'room', order: orderForRoom('room-2') },
  { what: 'application', order: callOrder({ appId: otherApp }) },
  { what: 'device', order: callOrder({ deviceId: otherDevice }) },
];
for (const { what, order } of others)
  test(`another ${what} has a session of its own`, () => {
    const scene = new CallScene();
    assert.notEqual(scene.issue(), scene.issue(order));
    assert.equal(scene.directory.size, 2);
  });

for (const state of ['establishing', 'ringing', 'attempting', 'connected'] as const)
  test(`other media parameters are refused while ${state}, and nothing is written; the same ones are not`, () => {
    const scene = new CallScene();
    const sessionId = scene.issue();
    const bridge = scene.connectBridge(sessionId);
    if (state !== 'establishing') scene.directory.report(sessionId, 'bridge', bridge, progress(state));
    const before = scene.directory.find(sessionId);
    const writes = scene.records.writes.length;
    assert.deepEqual(scene.directory.issue(callOrder({ media: otherMedia })), { kind: 'media_in_use' });
    assert.equal(scene.directory.find(sessionId), before);
    assert.equal(scene.records.writes.length, writes);
    assert.equal(scene.directory.issue(callOrder()).kind, 'renewed');
    assert.equal(scene.state(sessionId), state);
  });

test('a fifth session of a device ends the one longest issued as replaced, and comes after it', () => {
  const scene = new CallScene();
  const follower = scene.follow();
  const sessions = ['1', '2', '3', '4'].map((room) => scene.issue(orderForRoom(room)));
  const [inCall, oldest] = sessions as [SessionId, SessionId];
  scene.connectBridge(inCall);
  // The order of their making counts, whatever the wall clock did.
  scene.clock.stepWall(-3_600_000);
  scene.issue(orderForRoom('4'));
  follower.told.length = 0;
  const fifth = scene.issue(orderForRoom('5'));
  assert.deepEqual(scene.told(oldest), ['ended replaced']);
  assert.deepEqual(
    scene.directory.sessionsOf(testDevice).map(({ sessionId }) => sessionId),
    [inCall, sessions[2], sessions[3], fifth],
  );
  assert.deepEqual(follower.told, [
    '2 issued to replaced (now issued) after 2 events',
    '5 issued after 2 events',
  ]);
  assert.equal(scene.telemetry.count('call end replaced'), 1);
});

test('a fifth session is refused when nobody of the four is only issued, and nothing changes', () => {
  const scene = new CallScene();
  for (const room of ['1', '2', '3', '4']) scene.connectBridge(scene.issue(orderForRoom(room)));
  const writes = scene.records.writes.length;
  assert.deepEqual(scene.directory.issue(orderForRoom('5')), { kind: 'full' });
  assert.equal(scene.directory.size, 4);
  assert.equal(scene.records.writes.length, writes);
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

test('after the end the same room gets a new session', () => {
  const scene = new CallScene();
  const sessionId = scene.issue();
  assert.equal(scene.directory.end(sessionId, 'cancelled'), true);
  assert.notEqual(scene.issue(), sessionId);
});

for (const side of ['device', 'bridge'] as const)
  test(`the first leg, a ${side}, makes the session a call, and is told nothing of that`, () => {
    const scene = new CallScene();
    const follower = scene.follow();
    const sessionId = scene.issue();
    const leg = side === 'device' ? scene.connectDevice(sessionId) : scene.connectBridge(sessionId);
    assert.equal(scene.state(sessionId), 'establishing');
    assert.deepEqual(scene.told(sessionId), ['started establishing']);
    assert.equal(follower.told.at(-1), 'room-1 issued to establishing (now establishing) after 1 events');
    assert.deepEqual(legWords(leg), []);
    const { directory } = scene;
    assert.deepEqual(
      [directory.hasDevice(sessionId), directory.hasBridge(sessionId)],
      [side === 'device', side === 'bridge'],
    );
    directory.disconnected(sessionId, side, leg);
    assert.deepEqual([directory.hasDevice(sessionId), directory.hasBridge(sessionId)], [false, false]);
  });

test('the other leg changes no state; that it was there is kept', () => {
  const scene = new CallScene();
  const sessionId = scene.issue();
  scene.connectBridge(sessionId);
  scene.connectDevice(sessionId, 'token-7');
  assert.deepEqual(scene.told(sessionId), ['started establishing']);
  const kept = scene.records.records.get(testDevice)?.[0];
  assert.deepEqual(
    [kept?.hasSeenDevice, kept?.hasSeenBridge, kept?.connectedTokens],
    [true, true, ['token-7']],
  );
});

for (const side of ['device', 'bridge'] as const)
  test(`a second ${side} leg replaces the first, of which nothing is heard any more`, () => {
    const scene = new CallScene();
    const follower = scene.follow();
    const sessionId = scene.issue();
    const connect = (): FakeCallLeg =>
      side === 'device' ? scene.connectDevice(sessionId, 'token') : scene.connectBridge(sessionId);
    const first = connect();
    const told = follower.told.length;
    const writes = scene.records.writes.length;
    const second = connect();
    assert.deepEqual(legWords(first), ['closed replaced']);
    scene.directory.report(sessionId, side, first, progress('connected'));
    scene.directory.alive(sessionId, side, first, 'media');
    scene.directory.disconnected(sessionId, side, first);
    assert.equal(scene.state(sessionId), 'establishing');
    assert.equal(scene.telemetry.count('call report stray'), 1);
    assert.equal(scene.directory.hasBridge(sessionId), side === 'bridge');
    assert.equal(follower.told.length, told, 'a replaced bridge is not a lost one');
    assert.equal(scene.records.writes.length, writes);
    scene.directory.report(sessionId, side, second, progress('connected'));
    assert.equal(scene.state(sessionId), 'connected');
    assert.deepEqual(legWords(first), ['closed replaced']);
  });

test('a bridge that is lost is told of, and may come back', () => {
  const scene = new CallScene();
  const follower = scene.follow();
  const sessionId = scene.issue();
  const bridge = scene.connectBridge(sessionId);
  scene.directory.report(sessionId, 'bridge', bridge, progress('ringing'));
  scene.directory.disconnected(sessionId, 'bridge', bridge);
  assert.equal(follower.told.at(-1), 'room-1 bridge gone after 2 events');
  assert.equal(scene.directory.hasBridge(sessionId), false);
  scene.directory.report(sessionId, 'bridge', bridge, progress('connected'));
  assert.equal(scene.state(sessionId), 'ringing', 'a leg that is gone reports nothing');
  const back = scene.connectBridge(sessionId);
  scene.directory.report(sessionId, 'bridge', back, progress('connected'));
  assert.deepEqual(scene.told(sessionId), ['started establishing', 'state ringing', 'state connected']);
});

test('a device that is lost is told to nobody, and may come back', () => {
  const scene = new CallScene();
  const follower = scene.follow();
  const sessionId = scene.issue();
  const device = scene.connectDevice(sessionId);
  const told = follower.told.length;
  scene.directory.disconnected(sessionId, 'device', device);
  assert.equal(follower.told.length, told);
  scene.directory.report(sessionId, 'device', scene.connectDevice(sessionId), progress('attempting'));
  assert.equal(scene.state(sessionId), 'attempting');
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
  follower.told.length = 0;
  const ofThird = scene.issue(orderForRoom('3'));
  scene.connectDevice(ofThird);
  assert.deepEqual(
    [scene.told(second), scene.told(third)],
    [[], []],
    'ended when the first was connected to',
  );
  assert.deepEqual(follower.told, [
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

test('a bridge that connects ends no other session of the device', () => {
  const scene = new CallScene();
  const first = scene.issue(orderForRoom('1'));
  const second = scene.issue(orderForRoom('2'));
  scene.connectBridge(first);
  scene.connectBridge(second);
  assert.deepEqual([scene.state(first), scene.state(second)], ['establishing', 'establishing']);
});

test('nobody connects to a session that is not, or no longer, there', () => {
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

test('what one leg reports the other is told, and the reporter is not', () => {
  const scene = new CallScene();
  const sessionId = scene.issue();
  const bridge = scene.connectBridge(sessionId);
  const device = scene.connectDevice(sessionId);
  scene.directory.report(sessionId, 'bridge', bridge, progress('ringing'));
  scene.directory.report(sessionId, 'device', device, progress('attempting'));
  scene.directory.report(sessionId, 'bridge', bridge, progress('connected'));
  assert.deepEqual(legWords(device), ['ringing', 'connected']);
  assert.deepEqual(legWords(bridge), ['attempting']);
  assert.deepEqual(device.told[0], { kind: 'state', sessionId, state: 'ringing', reason: null });
  assert.equal(scene.telemetry.count('call report taken'), 3);
});

test('states are skipped forwards and never gone back to; a report that changes nothing is told to nobody', () => {
  const scene = new CallScene();
  const sessionId = scene.issue();
  const bridge = scene.connectBridge(sessionId);
  const device = scene.connectDevice(sessionId);
  scene.directory.report(sessionId, 'bridge', bridge, progress('connected'));
  const writes = scene.records.writes.length;
  for (const state of ['ringing', 'attempting', 'connected'] as const)
    scene.directory.report(sessionId, 'bridge', bridge, progress(state));
  scene.directory.report(sessionId, 'device', device, progress('attempting'));
  assert.deepEqual(scene.told(sessionId), ['started establishing', 'state connected']);
  assert.deepEqual(legWords(device), ['connected']);
  assert.equal(scene.records.writes.length, writes);
  assert.equal(scene.telemetry.count('call report repeated'), 4);
});

for (const side of ['device', 'bridge'] as const)
  test(`a call that a ${side} ends is over for both legs, and only the other is told why`, () => {
    const scene = new CallScene();
    const sessionId = scene.issue();
    const legs = { bridge: scene.connectBridge(sessionId), device: scene.connectDevice(sessionId) };
    const other = side === 'device' ? 'bridge' : 'device';
    scene.directory.report(sessionId, side, legs[side], hangup);
    assert.deepEqual(legWords(legs[side]), ['closed ended']);
    assert.deepEqual(legWords(legs[other]), ['ended hangup_phone', 'closed ended']);
    assert.deepEqual(scene.told(sessionId), ['started establishing', 'ended hangup_phone']);
    assert.equal(scene.directory.find(sessionId), null);
    assert.equal(scene.records.records.has(testDevice), false);
    assert.equal(scene.telemetry.count('call end hangup_phone'), 1);
    assert.equal(scene.telemetry.count('call report taken'), 1);
  });

test('a late report of a session that has ended, of another session or of another leg is ignored and counted', () => {
  const scene = new CallScene();
  const ended = scene.issue(orderForRoom('1'));
  const late = scene.connectBridge(ended);
  scene.directory.end(ended, 'error');
  const sessionId = scene.issue(orderForRoom('2'));
  const bridge = scene.connectBridge(sessionId);
  const events = scene.records.events.length;
  scene.directory.report(ended, 'bridge', late, progress('connected'));
  scene.directory.report(sessionId, 'bridge', late, hangup);
  scene.directory.report(sessionId, 'device', bridge, hangup);
  scene.directory.report('unknown' as SessionId, 'bridge', bridge, hangup);
  assert.equal(scene.telemetry.count('call report stray'), 4);
  assert.equal(scene.records.events.length, events);
  assert.equal(scene.state(sessionId), 'establishing');
});

test('a session that the server ends is over for both legs, which are told why', () => {
  const scene = new CallScene();
  const follower = scene.follow();
  const sessionId = scene.issue();
  const legs = [scene.connectBridge(sessionId), scene.connectDevice(sessionId)];
  assert.equal(scene.directory.end(sessionId, 'error'), true);
  for (const leg of legs) assert.deepEqual(legWords(leg), ['ended error', 'closed ended']);
  assert.equal(follower.told.at(-1), 'room-1 establishing to error (now establishing) after 2 events');
  assert.equal(scene.directory.end(sessionId, 'error'), false);
  assert.deepEqual(scene.told(sessionId), ['started establishing', 'ended error']);
});

test('sessions are counted by state, from issuance to end', () => {
  const scene = new CallScene();
  const sessionId = scene.issue();
  const none = { issued: 0, establishing: 0, ringing: 0, attempting: 0, connected: 0 };
  assert.deepEqual(scene.directory.countByState(), { ...none, issued: 1 });
  const bridge = scene.connectBridge(sessionId);
  assert.deepEqual(scene.directory.countByState(), { ...none, establishing: 1 });
  for (const state of ['ringing', 'attempting', 'connected'] as const) {
    scene.directory.report(sessionId, 'bridge', bridge, progress(state));
    assert.deepEqual(scene.directory.countByState(), { ...none, [state]: 1 });
  }
  scene.directory.report(sessionId, 'bridge', bridge, hangup);
  assert.deepEqual(scene.directory.countByState(), none);
});

test('a drain closes every leg and leaves the sessions to the next process', () => {
  const scene = new CallScene();
  const follower = scene.follow();
  const sessionId = scene.issue();
  const legs = { bridge: scene.connectBridge(sessionId), device: scene.connectDevice(sessionId, 'token') };
  const told = follower.told.length;
  scene.directory.drain();
  for (const leg of Object.values(legs)) assert.deepEqual(legWords(leg), ['closed drain']);
  assert.equal(scene.directory.hasBridge(sessionId), false);
  scene.directory.report(sessionId, 'bridge', legs.bridge, hangup);
  assert.equal(scene.state(sessionId), 'establishing');
  assert.equal(follower.told.length, told);
  scene.restart();
  assert.equal(scene.state(sessionId), 'establishing');
  scene.connectDevice(sessionId, 'token');
  assert.deepEqual(scene.told(sessionId), ['started establishing']);
});

test('what is known of a device is committed when its records are', async () => {
  const scene = new CallScene();
  assert.equal(scene.directory.committed(testDevice), null);
  scene.records.outstanding = Promise.resolve();
  await scene.directory.committed(testDevice);
  assert.equal(scene.directory.committed(testDevice), scene.records.outstanding);
});
