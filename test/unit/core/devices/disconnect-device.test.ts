/** A device without access loses its sessions: the effects of registry changes on connected devices. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceId } from '../../../../src/model/ids.ts';
import {
  disconnectDevice,
  disconnectEverybody,
  deviceReview,
} from '../../../../src/core/devices/disconnect-device.ts';
import { testDevice } from '../../../support/fakes.ts';
import { SessionScene } from '../../../support/session-scene.ts';
import type { Device } from '../../../../src/model/registry.ts';

for (const kind of ['sleep', 'signal'] as const)
  test(`${kind}: a kicked session closes its connection; without one there is nothing to kick`, () => {
    const scene = new SessionScene();
    const peer = scene[kind].login();
    assert.equal(disconnectDevice(scene.deps, testDevice, 'kicked'), true);
    assert.deepEqual(peer.closes, ['kicked']);
    assert.deepEqual(scene[kind].history(), ['opened 1', 'closed 1 kicked']);
    assert.equal(disconnectDevice(scene.deps, testDevice, 'kicked'), false);
    peer.end('peer_closed');
    assert.deepEqual(scene[kind].history(), ['opened 1', 'closed 1 kicked']);
    assert.equal(scene.directory.size, 0);
  });

test('a device that is online and asleep is disconnected from both, each with its own heartbeat', () => {
  const scene = new SessionScene();
  const [module, controller] = [scene.sleep.login(), scene.signal.login()];
  const nowS = Math.floor(scene.clock.wallMs() / 1000);
  module.heartbeat();
  scene.clock.advance(7000);
  controller.heartbeat();
  scene.clock.advance(3000);
  assert.equal(disconnectDevice(scene.deps, testDevice, 'kicked'), true);
  assert.deepEqual([module.closes, controller.closes], [['kicked'], ['kicked']]);
  const login = { lastLoginAt: nowS, lastOfflineAt: nowS + 10 };
  assert.deepEqual(scene.sleep.times(), { ...login, lastHeartbeatAt: nowS });
  assert.deepEqual(scene.signal.times(), { ...login, lastHeartbeatAt: nowS + 7 });
  assert.equal(scene.directory.size, 0);
});

test('each device is disconnected once, whatever its sessions', () => {
  const scene = new SessionScene();
  const ids = ['A', 'B', 'C'] as DeviceId[];
  for (const deviceId of ids) scene.registry.addDevice({ deviceId });
  const peers = [
    scene.sleep.login(ids[0]),
    scene.signal.login(ids[1]),
    scene.sleep.login(ids[2]),
    scene.signal.login(ids[2]),
  ];
  disconnectEverybody(scene.deps, 'drain');
  assert.deepEqual(
    peers.map(({ closes }) => closes),
    [['drain'], ['drain'], ['drain'], ['drain']],
  );
  assert.equal(scene.directory.size, 0);
  const told = scene.events.length;
  disconnectEverybody(scene.deps, 'drain');
  assert.equal(scene.events.length, told);
});

test('unreadable signal records do not block the drain of sleeping devices', () => {
  const scene = new SessionScene();
  const ids = ['A', 'B'] as DeviceId[];
  const peers = ids.map((deviceId) => scene.sleep.login(scene.registry.addDevice({ deviceId }).deviceId));
  scene.signalRecords.failure = new Error('the store cannot be read');
  disconnectEverybody(scene.deps, 'drain');
  assert.deepEqual(
    peers.map(({ closes }) => closes),
    [['drain'], ['drain']],
  );
});

class Scene extends SessionScene {
  readonly review = deviceReview(this);

  alter(device: Partial<Device> | null): void {
    if (device === null) this.registry.devices.delete(testDevice);
    else this.registry.addDevice(device);
    this.review.begin();
  }
}

const changes: readonly { name: string; change: Partial<Device> | null }[] = [
  { name: 'is not there any more', change: null },
  { name: 'is disabled', change: { disabled: true } },
  { name: 'has expired', change: { expiresAt: 1 } },
  { name: 'has another secret', change: { secret: 'another secret' } },
];
for (const { name, change } of changes)
  test(`a device that ${name} loses its sleep and its signal session, as kicked`, () => {
    const scene = new Scene();
    const [module, controller] = [scene.sleep.login(), scene.signal.login()];
    scene.alter(change);
    assert.deepEqual([module.closes, controller.closes], [['kicked'], ['denied']]);
    assert.deepEqual(scene.sleep.history(), ['opened 1', 'closed 1 kicked']);
    assert.deepEqual(scene.signal.history(), ['opened 1', 'closed 1 kicked']);
    assert.equal(scene.directory.size, 0);
  });

test('a device without a relevant change stays connected', () => {
  const scene = new Scene();
  const [module, controller] = [scene.sleep.login(), scene.signal.login()];
  scene.alter({});
  scene.alter({ expiresAt: scene.clock.wallMs() / 1000 + 60 });
  scene.clock.advance(1000);
  assert.deepEqual([module.closes, controller.closes], [[], []]);
});

test('sessions that were proven with the new secret stay', () => {
  const scene = new Scene();
  scene.registry.addDevice({ secret: 'another secret' });
  const peer = scene.sleep.admit({ secret: 'another secret' });
  assert.ok(typeof peer !== 'string');
  scene.review.begin();
  assert.deepEqual(peer.closes, []);
});

test('a login with the new secret ends the sessions of the old one, before any review', () => {
  for (const [old, fresh, word] of [
    ['sleep', 'signal', 'kicked'],
    ['signal', 'sleep', 'denied'],
  ] as const) {
    const scene = new Scene();
    const before = scene[old].login();
    scene.registry.addDevice({ secret: 'another secret' });
    const after = scene[fresh].admit({ secret: 'another secret' });
    assert.ok(typeof after !== 'string');
    assert.deepEqual([before.closes, after.closes], [[word], []]);
    assert.deepEqual(scene[old].history(), ['opened 1', 'closed 1 kicked']);
    scene.review.begin();
    assert.deepEqual(after.closes, []);
  }
});
