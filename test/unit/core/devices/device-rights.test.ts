/** Who lost the right loses the session: what becomes of the devices that are here when the registry changes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceId } from '../../../../src/model/ids.ts';
import type { Device } from '../../../../src/model/registry.ts';
import { deviceReview } from '../../../../src/core/devices/device-rights.ts';
import { testDevice } from '../../../support/fakes.ts';
import { SessionScene } from '../../../support/session-scene.ts';

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

test('a device of which something else has changed, or nothing, stays', () => {
  const scene = new Scene();
  const [module, controller] = [scene.sleep.login(), scene.signal.login()];
  scene.alter({});
  scene.alter({ expiresAt: scene.clock.wallMs() / 1000 + 60 });
  scene.clock.advance(1000);
  assert.deepEqual([module.closes, controller.closes], [[], []]);
});

test('what was proven with the new secret stays', () => {
  const scene = new Scene();
  scene.registry.addDevice({ secret: 'another secret' });
  const peer = scene.sleep.admit({ secret: 'another secret' });
  assert.ok(typeof peer !== 'string');
  scene.review.begin();
  assert.deepEqual(peer.closes, []);
});

test('a login with the new secret ends what the old one has opened, before anybody has looked', () => {
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

test('a registry that cannot be read ends nobody', () => {
  const scene = new Scene();
  const module = scene.sleep.login();
  scene.registry.failure = new Error('gone');
  scene.alter({ disabled: true });
  assert.deepEqual(module.closes, []);
  assert.equal(scene.log.lines.length, 1);
});

test('of very many, those who may stay do', () => {
  const scene = new Scene();
  const ids = Array.from({ length: 1500 }, (_, number) => `D${number}` as DeviceId);
  for (const deviceId of ids) scene.registry.addDevice({ deviceId });
  const modules = ids.map((deviceId) => scene.sleep.login(deviceId));
  for (const deviceId of ids.slice(700)) scene.registry.devices.delete(deviceId);
  scene.review.begin();
  scene.clock.advance(0);
  assert.deepEqual(
    modules.map(({ closes }) => closes.length),
    ids.map((_, number) => (number < 700 ? 0 : 1)),
  );
});
