import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AccessKeyId, ApplicationId, DeviceId, ProductId } from '../../../../src/model/ids.ts';
import { isCredentialValid, type Device } from '../../../../src/model/registry.ts';
import { importRegistry } from '../../../../src/storage/registry/registry-import.ts';
import { RegistryStore } from '../../../../src/storage/registry/registry-store.ts';
import { RegistryWriter } from '../../../../src/storage/registry/registry-write.ts';
import { sampleRegistry } from '../../../support/registry-entries.ts';
import { openStore } from '../../../../src/storage/lmdb/open-store.ts';
import { closedAfter, temporaryStore, writeBeside, type Ending } from '../../../support/temporary-store.ts';

function sampleStore(t: Ending): { registry: RegistryStore; writer: RegistryWriter } {
  const store = temporaryStore(t);
  const file = writeBeside(store, 'registry.json', JSON.stringify(sampleRegistry));
  assert.ok(importRegistry(store.registry, { file, replace: false, skipUnchanged: false }).ok);
  const registry = new RegistryStore(store.registry);
  return { registry, writer: new RegistryWriter(store.registry, registry) };
}

const device: Device = {
  deviceId: 'NEW\0' as DeviceId,
  productId: 'doorbell' as ProductId,
  secret: 'secret',
  expiresAt: null,
  disabled: false,
};
const terms = { appId: '2818153' as ApplicationId, grants: ['*'], notBefore: null, notAfter: null } as const;
const old = 'AKTEST' as AccessKeyId;

test('a new device is found at once', async (t) => {
  const { registry, writer } = sampleStore(t);
  assert.equal(registry.findDevice(device.deviceId), null);
  assert.deepEqual(await writer.putDevice(device), { ok: true, value: device });
  assert.deepEqual(registry.findDevice(device.deviceId), device);
});

test('a device of a missing product is rejected', async (t) => {
  const { registry, writer } = sampleStore(t);
  const result = await writer.putDevice({ ...device, productId: 'gone' as ProductId });
  assert.deepEqual(result, { ok: false, error: { kind: 'product', id: 'gone' } });
  assert.equal(registry.findDevice(device.deviceId), null);
});

test('a disabled device keeps its other fields', async (t) => {
  const { registry, writer } = sampleStore(t);
  const id = 'TESTDEVICE01' as DeviceId;
  const before = registry.findDevice(id);
  assert.ok((await writer.update('device', id, (device) => ({ ...device, disabled: true }))).ok);
  assert.deepEqual(registry.findDevice(id), { ...before, disabled: true });
  const missing = await writer.update('device', 'GONE', (device) => ({
    ...device,
    disabled: true,
  }));
  assert.deepEqual(missing, { ok: false, error: { kind: 'device', id: 'GONE' } });
});

test('a new credential has an id and a secret of its own', async (t) => {
  const { registry, writer } = sampleStore(t);
  const [one, other] = [await writer.createCredential(terms), await writer.createCredential(terms)];
  assert.ok(one.ok && other.ok);
  assert.match(one.value.accessKeyId, /^AK[0-9A-F]{20}$/);
  assert.match(one.value.secretKey, /^[\w-]{43}$/);
  assert.notEqual(one.value.accessKeyId, other.value.accessKeyId);
  assert.notEqual(one.value.secretKey, other.value.secretKey);
  assert.deepEqual(registry.findCredential(one.value.accessKeyId), one.value);
  const orphan = await writer.createCredential({ ...terms, appId: 'gone' as ApplicationId });
  assert.deepEqual(orphan, { ok: false, error: { kind: 'application', id: 'gone' } });
});

test('a rotated credential stays valid until its end, which is never extended', async (t) => {
  const { registry, writer } = sampleStore(t);
  assert.equal(registry.findCredential(old)?.notAfter, 2_000_000_000);
  const fresh = await writer.rotateCredential(old, 1_800_000_000);
  assert.ok(fresh.ok);
  assert.equal(registry.findCredential(old)?.notAfter, 1_800_000_000);
  const now = 1_799_999_999;
  for (const id of [old, fresh.value.accessKeyId]) {
    const credential = registry.findCredential(id);
    assert.ok(credential !== null && isCredentialValid(credential, now));
    assert.equal(credential.appId, '2818153');
    assert.deepEqual(credential.grants, ['*']);
  }
  assert.ok((await writer.rotateCredential(old, 1_900_000_000)).ok);
  assert.equal(registry.findCredential(old)?.notAfter, 1_800_000_000);
  assert.ok(!(await writer.rotateCredential('GONE' as AccessKeyId, 1)).ok);
});

test('a revoked credential is refused from the next read, even if it was cached', async (t) => {
  const { registry, writer } = sampleStore(t);
  assert.equal(registry.findCredential(old)?.revoked, false);
  assert.ok((await writer.update('credential', old, (credential) => ({ ...credential, revoked: true }))).ok);
  assert.equal(registry.findCredential(old)?.revoked, true);
});

test('concurrent changes are all applied', async (t) => {
  const { registry, writer } = sampleStore(t);
  const ids = Array.from({ length: 200 }, (_, i) => `device-${i}` as DeviceId);
  await Promise.all(ids.map((deviceId) => writer.putDevice({ ...device, deviceId })));
  await Promise.all(
    ids.map((deviceId) => writer.update('device', deviceId, (device) => ({ ...device, disabled: true }))),
  );
  for (const id of ids) assert.equal(registry.findDevice(id)?.disabled, true);
});

test('the devices of an application are counted through every change, import and restart', async (t) => {
  const store = temporaryStore(t);
  const app = '2818153' as ApplicationId;
  const load = (document: object, replace: boolean): void => {
    const file = writeBeside(store, 'registry.json', JSON.stringify(document));
    const result = importRegistry(store.registry, { file, replace, skipUnchanged: false, deletions: 'any' });
    assert.ok(result.ok);
  };
  const walked = (registry: RegistryStore): number =>
    registry
      .page('device', 1000)
      .filter(({ productId }) => registry.findProduct(productId)?.appIds.includes(app)).length;
  const registry = new RegistryStore(store.registry);
  const writer = new RegistryWriter(store.registry, registry);
  const check = (count: number): void => {
    assert.deepEqual([registry.countDevices(app), walked(registry)], [count, count]);
  };
  load(sampleRegistry, false);
  const before = registry.countDevices(app);
  assert.ok(before > 0);
  check(before);
  for (let i = 0; i < 5; i++) await writer.putDevice({ ...device, deviceId: `NEW${i}` as DeviceId });
  check(before + 5);
  await writer.putDevice({ ...device, deviceId: 'NEW0' as DeviceId, secret: 'another' });
  await writer.remove('device', 'NEW1');
  await writer.remove('device', 'NEW1');
  check(before + 4);
  load(sampleRegistry, true);
  registry.purge();
  check(before);
  await store.close();
  const again = closedAfter(t, openStore(store.directory));
  assert.equal(again.registry.countDevices(app), before);
});
