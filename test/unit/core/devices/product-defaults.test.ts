import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findMediaProfile, findProductDefaults } from '../../../../src/core/devices/product-defaults.ts';
import type { ApplicationId, DeviceId, ProductId } from '../../../../src/model/ids.ts';
import { FakeRegistry, testApp, testDevice } from '../../../support/fakes.ts';

const media = { audio_rate: 8000, audio_channels: 1 } as const;
const defaults = { heartbeat_s: 60, media };

function registryWith(given: object): FakeRegistry {
  const registry = new FakeRegistry();
  const productId = 'doorbell' as ProductId;
  registry.products.set('doorbell', { productId, appIds: [testApp], ...given });
  return registry;
}

test('a device has the defaults of its product, and none if the product has none or does not exist', () => {
  assert.deepEqual(findProductDefaults(registryWith({ defaults }), testDevice), defaults);
  assert.equal(findProductDefaults(registryWith({}), testDevice), null);
  assert.equal(findProductDefaults(registryWith({ defaults }), 'NOBODY' as DeviceId), null);
  const registry = registryWith({ defaults });
  registry.products.clear();
  assert.equal(findProductDefaults(registry, testDevice), null);
});

test('a media profile is visible to the applications of the product, for devices that exist', () => {
  const registry = registryWith({ defaults });
  const profileFor = (appId: ApplicationId, deviceId = testDevice) =>
    findMediaProfile(registry, appId, deviceId);
  assert.deepEqual(profileFor(testApp), media);
  assert.equal(profileFor('9999999' as ApplicationId), null);
  assert.equal(profileFor(testApp, 'NOBODY' as DeviceId), null);
  registry.addDevice({ disabled: true });
  assert.equal(profileFor(testApp), null);
  assert.equal(findMediaProfile(registryWith({ defaults: { heartbeat_s: 60 } }), testApp, testDevice), null);
});

test('an unreadable registry is not mistaken for a product without defaults', () => {
  const registry = registryWith({ defaults });
  registry.failure = new Error('the store is gone');
  assert.throws(() => findProductDefaults(registry, testDevice), /gone/);
  assert.throws(() => findMediaProfile(registry, testApp, testDevice), /gone/);
});
