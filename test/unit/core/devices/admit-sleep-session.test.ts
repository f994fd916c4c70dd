import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceId } from '../../../../src/model/ids.ts';
import type { Device } from '../../../../src/model/registry.ts';
import { testDevice } from '../../../support/fakes.ts';
import { SessionScene, type AdmitOptions } from '../../../support/session-scene.ts';

const other = 'OTHER' as DeviceId;

test('a login with the right proof gets a session and the first epoch', () => {
  const scene = new SessionScene();
  const peer = scene.sleep.login();
  assert.equal(peer.epoch, 1);
  assert.equal(peer.ticket.deviceId, testDevice);
  assert.equal(scene.sleepRecords.records.get(testDevice)?.openSession, peer.ticket.sessionId);
});

const denials: { name: string; device?: Partial<Device>; login?: AdmitOptions }[] = [
  { name: 'an unknown device', login: { deviceId: 'NOBODY' as DeviceId } },
  { name: 'a wrong proof', login: { secret: 'another secret' } },
  { name: 'a disabled device', device: { disabled: true } },
  { name: 'an expired device', device: { expiresAt: 1 } },
];
for (const { name, device, login } of denials) {
  test(`${name} is denied and opens nothing`, () => {
    const scene = new SessionScene();
    if (device !== undefined) scene.registry.addDevice(device);
    assert.equal(scene.sleep.admit(login), 'denied');
    assert.equal(scene.directory.size, 0);
    assert.deepEqual(scene.events, []);
  });
}

test('a full port is busy for a new device and open for one that replaces its own session', () => {
  const scene = new SessionScene();
  scene.registry.addDevice({ deviceId: other });
  const old = scene.sleep.login();
  assert.equal(scene.sleep.admit({ deviceId: other, hasRoom: false }), 'busy');
  assert.ok(typeof scene.sleep.admit({ hasRoom: false }) === 'object');
  assert.deepEqual(old.closes, ['replaced']);
});

test('a full port tells a stranger nothing: a wrong proof is denied, not busy', () => {
  const scene = new SessionScene();
  assert.equal(scene.sleep.admit({ secret: 'wrong', hasRoom: false }), 'denied');
});

test('the first sleep login of a device that is online replaces nothing: a full port is busy for it', () => {
  const scene = new SessionScene();
  scene.signal.login();
  assert.equal(scene.sleep.admit({ hasRoom: false }), 'busy');
  assert.equal(scene.sleep.epoch(), 0);
  assert.equal(scene.isOnline(), true);
});

test('a store that is far behind opens no session, and lets a replacing login in', () => {
  const scene = new SessionScene();
  scene.overloaded = true;
  assert.equal(scene.sleep.admit(), 'busy');
  assert.equal(scene.directory.size, 0);
  scene.overloaded = false;
  scene.sleep.login();
  scene.overloaded = true;
  assert.equal(scene.sleep.login().epoch, 2);
});

test('a registry or a record that cannot be read is thrown and leaves no actor behind', () => {
  for (const broken of ['registry', 'sleepRecords'] as const) {
    const scene = new SessionScene();
    scene[broken].failure = new Error(`${broken} cannot be read`);
    assert.throws(() => scene.sleep.admit(), scene[broken].failure);
    assert.equal(scene.directory.size, 0);
    assert.deepEqual(scene.events, []);
  }
});

test('the late end of a replaced connection changes nothing', () => {
  const scene = new SessionScene();
  const [first, second] = [scene.sleep.login(), scene.sleep.login()];
  first.end('heartbeat_timeout');
  assert.equal(scene.sleep.epoch(), second.epoch);
  second.end('peer_closed');
  assert.equal(scene.directory.find(testDevice), null);
  second.end('peer_closed');
  assert.deepEqual(scene.sleep.history(), ['opened 1', 'replaced 2', 'closed 2 peer_closed']);
});
