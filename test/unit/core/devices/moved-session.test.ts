import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adoptSession, describeSession } from '../../../../src/core/devices/admit-session.ts';
import { DeviceDirectory } from '../../../../src/core/devices/device-directory.ts';
import { LoginRates } from '../../../../src/core/devices/login-rates.ts';
import type { SleepConnection } from '../../../../src/core/ports/device-sessions.ts';
import { generateSessionId, type SessionId } from '../../../../src/model/ids.ts';
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
  readonly sessionId: SessionId;
} {
  const from = new SessionScene();
  from.sleep.login();
  const { sleepRecords, signalRecords, directory } = from;
  const sessionId = directory.find(testDevice)?.session('sleep') ?? assert.fail();
  // The next process, on the same store.
  return { from, to: new DeviceDirectory({ sleepRecords, signalRecords, node: testNode }), sessionId };
}

test('a session that moves keeps its epoch, is woken by its new connection, and nobody is told', () => {
  const { from, to, sessionId } = scene();
  const before = from.events.length;
  const moved = describeSession(from.directory, { deviceId: testDevice, sessionId });
  assert.ok(moved !== null);
  const ticket = adoptSession({ directory: to, clock: from.clock }, moved, connection);
  assert.deepEqual(ticket, { deviceId: testDevice, sessionId, epoch: 1, secretMark: moved.secretMark });
  assert.equal(to.find(testDevice)?.findWakeable(false), connection);
  assert.equal(to.find(testDevice)?.secretMark, from.directory.find(testDevice)?.secretMark);
  assert.equal(from.events.length, before);
});

test('what a device has used up of its wake limit goes with its session', () => {
  const { from, to, sessionId } = scene();
  const rate = { perSecond: 1, burst: 3 };
  const bucket = from.directory.find(testDevice)?.wakeAllowance(rate, from.clock.monotonicMs());
  assert.ok(bucket !== undefined);
  bucket.tokens = 1;
  const moved = describeSession(from.directory, { deviceId: testDevice, sessionId });
  assert.ok(moved !== null);
  adoptSession({ directory: to, clock: from.clock }, moved, connection);
  assert.equal(to.find(testDevice)?.wakeAllowance(rate, from.clock.monotonicMs()).tokens, 1);
});

test('a session that is over by the store is not taken up, and leaves no actor', () => {
  const { from, to, sessionId } = scene();
  const moved = describeSession(from.directory, { deviceId: testDevice, sessionId });
  assert.ok(moved !== null);
  const other = { ...moved, sessionId: generateSessionId() };
  assert.equal(adoptSession({ directory: to, clock: from.clock }, other, connection), null);
  assert.equal(to.size, 0);
  assert.equal(describeSession(from.directory, { ...moved, sessionId: other.sessionId }), null);
});

test('a device that logs in before its session is brought replaces it, and the session is not taken up', () => {
  const { from, sessionId } = scene();
  const moved = describeSession(from.directory, { deviceId: testDevice, sessionId });
  assert.ok(moved !== null);
  from.directory = from.newDirectory();
  from.loginRates = new LoginRates(from.clock, 1);
  const peer = from.sleep.login();
  assert.equal(peer.epoch, 2);
  assert.deepEqual(
    from.events.slice(1).map(({ type, data }) => [type, 'replaced' in data && data.replaced]),
    [['device.sleep.login', true]],
  );
  assert.equal(adoptSession(from, moved, connection), null);
  assert.deepEqual(peer.closes, []);
});
