/** Legs and followers that change something themselves in the turn in which they are notified. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallFollower } from '../../../../src/core/calls/call-followers.ts';
import type { LegCloseReason, LegMessage } from '../../../../src/model/call.ts';
import type { SessionId, TokenId } from '../../../../src/model/ids.ts';
import { CallScene, legWords, orderForRoom, progress } from '../../../support/call-scene.ts';
import { FakeCallLeg } from '../../../support/fakes.ts';

class AnsweringLeg extends FakeCallLeg {
  onNotify: () => void = () => undefined;
  onClose: () => void = () => undefined;

  override notify(message: LegMessage): void {
    super.notify(message);
    this.onNotify();
  }

  override close(reason: LegCloseReason): void {
    super.close(reason);
    this.onClose();
  }
}

const quiet: CallFollower = {
  issued: () => undefined,
  changed: () => undefined,
  bridgeLost: () => undefined,
};

/** A call with both legs; the device answers. */
function sceneWithLegs(): {
  scene: CallScene;
  sessionId: SessionId;
  bridge: FakeCallLeg;
  device: AnsweringLeg;
} {
  const scene = new CallScene();
  const sessionId = scene.issue();
  const bridge = scene.connectBridge(sessionId);
  const device = new AnsweringLeg();
  scene.directory.connectDevice(sessionId, 'token' as TokenId, device);
  return { scene, sessionId, bridge, device };
}

test('a device that accepts in the notification of ringing is reported after it', () => {
  const { scene, sessionId, bridge, device } = sceneWithLegs();
  const follower = scene.follow();
  device.onNotify = () => scene.directory.report(sessionId, 'device', device, progress('attempting'));
  scene.directory.report(sessionId, 'bridge', bridge, progress('ringing'));
  assert.deepEqual(scene.callEvents(sessionId), [
    'started establishing',
    'state ringing',
    'state attempting',
  ]);
  assert.deepEqual(follower.notifications, [
    'room-1 establishing to ringing (now ringing) after 2 events',
    'room-1 ringing to attempting (now attempting) after 3 events',
  ]);
  assert.deepEqual(legWords(bridge), ['attempting']);
});

test('if a follower ends the call in the notification, all are notified of the change first, and of the end once', () => {
  const { scene, sessionId, bridge, device } = sceneWithLegs();
  scene.directory.follow({
    ...quiet,
    changed: (_session, { state }) => {
      if (state === 'ringing') scene.directory.end(sessionId, 'error');
    },
  });
  const second = scene.follow();
  scene.directory.report(sessionId, 'bridge', bridge, progress('ringing'));
  assert.deepEqual(second.notifications, [
    'room-1 establishing to ringing (now ringing) after 3 events',
    'room-1 ringing to error (now ringing) after 3 events',
  ]);
  assert.deepEqual(legWords(device), ['ringing', 'ended error', 'closed ended']);
  assert.deepEqual(legWords(bridge), ['ended error', 'closed ended']);
  assert.deepEqual(scene.callEvents(sessionId), ['started establishing', 'state ringing', 'ended error']);
});

test('a leg whose socket breaks in a notification disconnects at once, and is neither notified nor closed again', () => {
  const { scene, sessionId, bridge, device } = sceneWithLegs();
  device.onNotify = () => scene.directory.disconnected(sessionId, 'device', device);
  scene.directory.report(sessionId, 'bridge', bridge, progress('ringing'));
  scene.directory.report(sessionId, 'bridge', bridge, progress('connected'));
  scene.directory.end(sessionId, 'error');
  assert.deepEqual(legWords(device), ['ringing']);
  assert.deepEqual(legWords(bridge), ['ended error', 'closed ended']);
});

test('a leg that disconnects or reports while it is closed changes nothing', () => {
  const { scene, sessionId, bridge, device } = sceneWithLegs();
  device.onClose = () => {
    scene.directory.disconnected(sessionId, 'device', device);
    scene.directory.report(sessionId, 'device', device, { kind: 'end', reason: 'hangup_device' });
    assert.equal(scene.directory.connectDevice(sessionId, 'token' as TokenId, device), false);
  };
  scene.directory.report(sessionId, 'bridge', bridge, { kind: 'end', reason: 'hangup_phone' });
  assert.deepEqual(legWords(device), ['ended hangup_phone', 'closed ended']);
  assert.deepEqual(scene.callEvents(sessionId), ['started establishing', 'ended hangup_phone']);
  assert.equal(scene.telemetry.count('call report stray'), 1);
});

test('a leg that reconnects while it is replaced replaces its successor', () => {
  const { scene, sessionId, device } = sceneWithLegs();
  const third = new FakeCallLeg();
  device.onClose = () => void scene.directory.connectDevice(sessionId, 'token' as TokenId, third);
  const second = scene.connectDevice(sessionId, 'token');
  assert.deepEqual([legWords(device), legWords(second)], [['closed replaced'], ['closed replaced']]);
  scene.directory.report(sessionId, 'device', third, progress('attempting'));
  assert.equal(scene.state(sessionId), 'attempting');
});

test('a room that is issued again at the end of its call gets another session', () => {
  const { scene, sessionId, bridge, device } = sceneWithLegs();
  let anew: SessionId | null = null;
  device.onClose = () => (anew = scene.issue());
  scene.directory.report(sessionId, 'bridge', bridge, { kind: 'end', reason: 'hangup_phone' });
  assert.ok(anew !== null && anew !== sessionId);
  assert.equal(scene.state(anew), 'issued');
});

test('a follower that connects a bridge in the notification of the session finds the session complete', () => {
  const scene = new CallScene();
  const bridge = new FakeCallLeg();
  scene.directory.follow({
    ...quiet,
    issued: ({ sessionId }) => void scene.directory.connectBridge(sessionId, bridge),
  });
  const result = scene.directory.issue(orderForRoom('1'));
  assert.ok(result.kind === 'issued');
  assert.equal(scene.state(result.session.sessionId), 'establishing');
  assert.equal(scene.directory.hasBridge(result.session.sessionId), true);
});

test('a device that is closed in one session and connects to another ends only the remaining sessions', () => {
  const scene = new CallScene();
  const [first, second] = ['1', '2'].map((room) => scene.issue(orderForRoom(room))) as [SessionId, SessionId];
  scene.connectBridge(second);
  const device = new AnsweringLeg();
  scene.directory.connectDevice(first, 'token' as TokenId, device);
  const third = scene.issue(orderForRoom('3'));
  const fourth = scene.issue(orderForRoom('4'));
  const again = new FakeCallLeg();
  device.onClose = () => {
    assert.equal(scene.directory.connectDevice(fourth, 'token' as TokenId, again), false);
  };
  scene.connectDevice(third);
  assert.deepEqual(
    [first, second, third, fourth].map((sessionId) => scene.callEvents(sessionId).at(-1)),
    ['ended replaced', 'ended replaced', 'started establishing', 'ended replaced'],
  );
  assert.deepEqual(legWords(again), []);
});

test('if legs end other calls while a turn of the wheel closes them, each call ends once', () => {
  const scene = new CallScene();
  const sessions = ['1', '2', '3', '4'].map((room) => scene.issue(orderForRoom(room)));
  for (const [i, sessionId] of sessions.entries()) {
    const bridge = new AnsweringLeg();
    bridge.onNotify = () => {
      for (const other of sessions) scene.directory.end(other, 'error');
    };
    scene.clock.advance(i === 3 ? 500 : 100);
    scene.directory.connectBridge(sessionId, bridge);
  }
  scene.clock.advance(34_600);
  assert.equal(scene.directory.size, 4);
  // Three leases expire at the next turn, the fourth does not.
  scene.clock.advance(100);
  const ends = sessions.map((sessionId) => scene.callEvents(sessionId).slice(1));
  assert.deepEqual(ends, [['ended lost'], ['ended lost'], ['ended lost'], ['ended error']]);
  scene.clock.advance(120_000);
  assert.equal(scene.records.events.length, 8);
});

test('legs that disconnect during a drain change nothing', () => {
  const { scene, sessionId, bridge, device } = sceneWithLegs();
  const follower = scene.follow();
  device.onClose = () => scene.directory.disconnected(sessionId, 'bridge', bridge);
  scene.directory.drain();
  assert.deepEqual([legWords(bridge), legWords(device)], [['closed drain'], ['closed drain']]);
  assert.deepEqual(follower.notifications, []);
});

test('a follower that throws does not suppress later notifications', () => {
  const { scene, sessionId, bridge, device } = sceneWithLegs();
  scene.directory.follow({
    ...quiet,
    issued: () => {
      throw new Error('a mistake');
    },
  });
  assert.throws(() => scene.directory.issue(orderForRoom('2')), /a mistake/);
  scene.directory.report(sessionId, 'bridge', bridge, progress('ringing'));
  assert.deepEqual(legWords(device), ['ringing']);
});
