import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sleepSessions } from '../../../../src/core/devices/admit-session.ts';
import { DeviceDirectory } from '../../../../src/core/devices/device-directory.ts';
import { LoginRates } from '../../../../src/core/devices/login-rates.ts';
import type {
  MovedSession,
  SessionTicket,
  SleepConnection,
} from '../../../../src/core/ports/device-sessions.ts';
import { generateSessionId } from '../../../../src/model/ids.ts';
import { testDevice } from '../../../support/fakes.ts';
import { SessionScene, testNode } from '../../../support/session-scene.ts';

const connection: SleepConnection = {
  lastHeartbeatAt: 0,
  isOpen: true,
  close: () => assert.fail('nobody closes it'),
  wake: () => Promise.resolve('written'),
};

function scene(): {
  readonly from: SessionScene;
  readonly to: DeviceDirectory;
  readonly moved: MovedSession;
} {
  const from = new SessionScene();
  from.sleep.login();
  const { sleepRecords, signalRecords, directory } = from;
  const actor = directory.find(testDevice) ?? assert.fail();
  const sessionId = actor.session('sleep') ?? assert.fail();
  const { secretMark } = actor;
  // The next core, on the same store.
  const to = new DeviceDirectory({ sleepRecords, signalRecords, node: testNode });
  return { from, to, moved: { deviceId: testDevice, sessionId, wakeMode: 'custom', secretMark } };
}

function adopt(from: SessionScene, directory: DeviceDirectory, moved: MovedSession): SessionTicket | null {
  return sleepSessions({ ...from.deps, directory }).adopt(moved, connection);
}

test('a session that an edge hands over keeps its epoch, is woken by its new connection, and causes no event', () => {
  const { from, to, moved } = scene();
  const before = from.events.length;
  const { sessionId, secretMark } = moved;
  assert.deepEqual(adopt(from, to, moved), { deviceId: testDevice, sessionId, epoch: 1, secretMark });
  assert.equal(to.find(testDevice)?.findWakeable(false), connection);
  assert.equal(to.find(testDevice)?.secretMark, secretMark);
  assert.equal(from.events.length, before);
});

test('a session that is over according to the store is not adopted, and leaves no actor', () => {
  const { from, to, moved } = scene();
  assert.equal(adopt(from, to, { ...moved, sessionId: generateSessionId() }), null);
  assert.equal(to.size, 0);
});

test('a device that logs in before its session is handed over replaces it, and the session is not adopted', () => {
  const { from, moved } = scene();
  from.directory = from.newDirectory();
  from.loginRates = new LoginRates(from.clock, 1);
  const peer = from.sleep.login();
  assert.equal(peer.epoch, 2);
  assert.deepEqual(
    from.events.slice(1).map(({ type, data }) => [type, 'replaced' in data && data.replaced]),
    [['device.sleep.login', true]],
  );
  assert.equal(adopt(from, from.directory, moved), null);
  assert.deepEqual(peer.closes, []);
});

test('a session that ended as lost while its device was online is over for a query, and is not adopted', () => {
  const { from, moved } = scene();
  from.directory = from.newDirectory();
  from.signal.login();
  const open = from.sleepRecords.records.get(testDevice) ?? assert.fail();
  assert.equal(from.observe().signal.isOnline, true);
  from.sleepRecords.records.set(testDevice, { ...open, openSession: null, lastOfflineAt: 1234 });
  assert.equal(from.observe().sleep.lastOfflineAt, 1234);
  assert.equal(adopt(from, from.directory, moved), null);
});
