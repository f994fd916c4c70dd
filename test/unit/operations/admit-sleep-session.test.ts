import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeviceDirectory } from '../../../src/actor/device-directory.ts';
import type { DeviceId } from '../../../src/domain/ids.ts';
import type { Device } from '../../../src/domain/registry.ts';
import type { SleepLogin } from '../../../src/domain/sleep.ts';
import { expelSleepSession, sleepSessions } from '../../../src/operations/admit-sleep-session.ts';
import { computeLoginMac } from '../../../src/sleep-wire/login-mac.ts';
import { DrivenClock } from '../../support/driven-clock.ts';
import { FakeConnection, FakeRecords, FakeRegistry, testDevice } from '../../support/fakes.ts';

const sessionKey = 'k'.repeat(32);

function loginOf(deviceId: DeviceId = testDevice, secret = 'device-secret'): SleepLogin {
  const signedText = `RVL1 ${Buffer.from(deviceId).toString('base64url')} custom 50 0`;
  const mac = computeLoginMac(secret, sessionKey, signedText);
  return { deviceId, wakeMode: 'custom', heartbeatSeconds: 50, wantsReply: false, mac, signedText };
}

class Scene {
  readonly clock = new DrivenClock();
  readonly registry = new FakeRegistry();
  readonly directory = new DeviceDirectory(new FakeRecords());
  overloaded = false;
  readonly house = {
    clock: this.clock,
    registry: this.registry,
    directory: this.directory,
    isOverloaded: () => this.overloaded,
  };
  readonly sessions = sleepSessions(this.house);

  admit(
    login = loginOf(),
    connection = new FakeConnection(),
    hasRoom = true,
  ): ReturnType<typeof this.sessions.admit> {
    return this.sessions.admit(login, sessionKey, connection, hasRoom);
  }
}

test('a login with the right proof gets a session and the first epoch', () => {
  const ticket = new Scene().admit();
  assert.ok(typeof ticket === 'object');
  assert.equal(ticket.epoch, 1);
  assert.equal(ticket.deviceId, testDevice);
});

const denials: { name: string; device?: Partial<Device>; login?: SleepLogin }[] = [
  { name: 'an unknown device', login: loginOf('NOBODY' as DeviceId) },
  { name: 'a wrong proof', login: loginOf(testDevice, 'another secret') },
  { name: 'a disabled device', device: { disabled: true } },
  { name: 'an expired device', device: { expiresAt: 1 } },
];
for (const { name, device, login } of denials) {
  test(`${name} is denied and opens nothing`, () => {
    const scene = new Scene();
    if (device !== undefined) scene.registry.addDevice(device);
    assert.equal(scene.admit(login), 'denied');
    assert.equal(scene.directory.size, 0);
  });
}

test('a full port is busy for a new device and open for one that replaces its own session', () => {
  const scene = new Scene();
  const old = new FakeConnection();
  scene.registry.addDevice({ deviceId: 'OTHER' as DeviceId });
  assert.ok(typeof scene.admit(loginOf(), old) === 'object');
  assert.equal(scene.admit(loginOf('OTHER' as DeviceId), new FakeConnection(), false), 'busy');
  assert.ok(typeof scene.admit(loginOf(), new FakeConnection(), false) === 'object');
  assert.deepEqual(old.closes, ['replaced']);
});

test('a full port tells a stranger nothing: a wrong proof is denied, not busy', () => {
  const scene = new Scene();
  assert.equal(scene.admit(loginOf(testDevice, 'wrong'), new FakeConnection(), false), 'denied');
});

test('a store that is far behind opens no session', () => {
  const scene = new Scene();
  scene.overloaded = true;
  assert.equal(scene.admit(), 'busy');
});

test('the late end of a replaced connection changes nothing', () => {
  const scene = new Scene();
  const first = scene.admit();
  assert.ok(typeof first === 'object');
  const second = scene.admit();
  assert.ok(typeof second === 'object');
  scene.sessions.ended(first, 'heartbeat_timeout', 0);
  assert.equal(scene.directory.find(testDevice)?.sleepEpoch, second.epoch);
  scene.sessions.ended(second, 'peer_closed', 0);
  assert.equal(scene.directory.find(testDevice), null);
  scene.sessions.ended(second, 'peer_closed', 0);
});

test('a kicked session closes its connection; without one there is nothing to kick', () => {
  const scene = new Scene();
  const connection = new FakeConnection();
  scene.admit(loginOf(), connection);
  assert.equal(expelSleepSession(scene.house, testDevice, 'kicked'), true);
  assert.deepEqual(connection.closes, ['kicked']);
  assert.equal(expelSleepSession(scene.house, testDevice, 'kicked'), false);
});
