import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { AccessKeyId, DeviceId, ProductId } from '../../../../src/model/ids.ts';
import type { Store } from '../../../../src/storage/lmdb/open-store.ts';
import { importRegistry } from '../../../../src/storage/registry/registry-import.ts';
import { RegistryStore } from '../../../../src/storage/registry/registry-store.ts';
import { sampleRegistry } from '../../../support/registry-entries.ts';
import { temporaryStore, writeBeside } from '../../../support/temporary-store.ts';

function importSample(store: Store, changes: object = {}): void {
  const file = writeBeside(store, 'registry.json', JSON.stringify({ ...sampleRegistry, ...changes }));
  assert.ok(importRegistry(store.registry, { file, replace: false, skipUnchanged: false }).ok);
}

test('credentials, products and devices are found by id, and missing ones are null', (t) => {
  const store = temporaryStore(t);
  importSample(store);
  const registry = new RegistryStore(store.registry);
  assert.equal(registry.findCredential('AKTEST' as AccessKeyId)?.secretKey, 'secret-of-the-credential');
  assert.deepEqual(registry.findProduct('doorbell' as ProductId), {
    productId: 'doorbell',
    appIds: ['2818153'],
    defaults: sampleRegistry.products[0]?.defaults,
  });
  assert.deepEqual(registry.findDevice('TESTDEVICE02' as DeviceId), {
    deviceId: 'TESTDEVICE02',
    productId: 'doorbell',
    secret: 'secret-2-of-a-device',
    expiresAt: 1_900_000_000,
    disabled: true,
  });
  assert.equal(registry.findCredential('AK' as AccessKeyId), null);
  assert.equal(registry.findProduct('door' as ProductId), null);
  assert.equal(registry.findDevice('TESTDEVICE0' as DeviceId), null);
});

test('a change is visible after a purge, a new device also before', (t) => {
  const store = temporaryStore(t);
  importSample(store);
  const registry = new RegistryStore(store.registry);
  const accessKeyId = 'AKTEST' as AccessKeyId;
  assert.equal(registry.findCredential(accessKeyId)?.revoked, false);
  const credentials = sampleRegistry.credentials.map((credential) => ({ ...credential, revoked: true }));
  const products = [{ product_id: 'doorbell', app_ids: [] }];
  assert.equal(registry.findProduct('doorbell' as ProductId)?.appIds.length, 1);
  importSample(store, { credentials, products });
  registry.purge();
  assert.equal(registry.findCredential(accessKeyId)?.revoked, true);
  assert.equal(registry.findProduct('doorbell' as ProductId)?.appIds.length, 0);
});

const peeked = 'TESTDEVICE01' as DeviceId;

/** The device was peeked at, and is disabled in the store since. */
function peekedThenDisabled(t: TestContext): RegistryStore {
  const store = temporaryStore(t);
  importSample(store);
  const registry = new RegistryStore(store.registry);
  const disabled = sampleRegistry.devices.map((device) => ({ ...device, disabled: true }));
  assert.equal(registry.peekDevice(peeked)?.disabled, false);
  importSample(store, { devices: disabled });
  return registry;
}

test('a device that is peeked at is not cached', (t) => {
  const registry = peekedThenDisabled(t);
  assert.equal(registry.findDevice(peeked)?.disabled, true);
});

test('a change of the device that was peeked at last is visible after a purge', (t) => {
  const registry = peekedThenDisabled(t);
  registry.purge();
  assert.equal(registry.peekDevice(peeked)?.disabled, true);
  assert.equal(registry.peekDevice('TESTDEVICE02' as DeviceId)?.deviceId, 'TESTDEVICE02');
});

test('a webhook is found by application and url', (t) => {
  const store = temporaryStore(t);
  importSample(store);
  const webhook = new RegistryStore(store.registry).find('webhook', '2818153\nhttps://backend.example/hook');
  assert.equal(webhook?.appId, '2818153');
  assert.equal(webhook?.url, 'https://backend.example/hook');
});

test('pages continue after the last entry seen and end with an empty one', (t) => {
  const store = temporaryStore(t);
  const ids = Array.from({ length: 7 }, (_, i) => `device-${i}`);
  importSample(store, { devices: ids.map((id) => ({ ...sampleRegistry.devices[0], device_id: id })) });
  const registry = new RegistryStore(store.registry);
  const seen: string[] = [];
  for (;;) {
    const page = registry.page('device', 3, seen.at(-1));
    assert.ok(page.length <= 3);
    if (page.length === 0) break;
    seen.push(...page.map(({ deviceId }) => deviceId));
  }
  assert.deepEqual(seen, ids);
});

test('a store is empty until it has an entry of any kind', (t) => {
  const store = temporaryStore(t);
  const registry = new RegistryStore(store.registry);
  assert.ok(registry.isEmpty());
  importSample(store, { products: [], credentials: [], devices: [], webhooks: [], bridges: [] });
  registry.purge();
  assert.ok(!registry.isEmpty());
});
