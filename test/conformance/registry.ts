/** Conformance of reads of a registry that is written elsewhere: by a process of the same node, or by another node. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AccessKeyId, ApplicationId, BridgeId, DeviceId, ProductId } from '../../src/model/ids.ts';
import type { Bridge, Credential, Device, Product } from '../../src/model/registry.ts';
import type { RegistryReader } from '../../src/core/ports/registry-reader.ts';
import type { RegistryWriter } from '../../src/storage/registry/registry-write.ts';
import type { Ending } from '../support/temporary-store.ts';

export interface SeenRegistry {
  readonly writer: RegistryWriter;
  /** Removes an entry, as an import without it does. */
  readonly remove: (kind: 'device' | 'credential' | 'bridge', id: string) => Promise<void>;
  readonly reader: RegistryReader;
  /** Resolves when the reader sees all changes. */
  readonly synced: () => Promise<void>;
}

const appId = '2818153' as ApplicationId;
const productId = 'doorbell' as ProductId;
const deviceId = '\ufeffa device\0 of {any} form' as DeviceId;
const keySha256 = 'ab'.repeat(32);
const product: Product = { productId, appIds: [appId] };
const device: Device = { deviceId, productId, secret: 's', expiresAt: 2_000_000_000, disabled: false };
const bridge: Bridge = {
  bridgeId: 'bridge-1' as BridgeId,
  keySha256,
  appIds: [appId],
  revoked: false,
};

async function founded(seen: SeenRegistry): Promise<SeenRegistry> {
  await seen.writer.put('application', { appId, name: 'an application' });
  await seen.writer.put('product', product);
  await seen.writer.putDevice(device);
  await seen.synced();
  return seen;
}

async function granted({ writer }: SeenRegistry): Promise<Credential> {
  const grants = ['events:read', 'call:issue'] as const;
  const made = await writer.createCredential({ appId, grants, notBefore: null, notAfter: 2_000_000_000 });
  assert.ok(made.ok);
  return made.value;
}

export function registryConformance(name: string, make: (t: Ending) => Promise<SeenRegistry>): void {
  test(`${name}: missing entries are null`, async (t) => {
    const { reader } = await make(t);
    assert.equal(reader.findDevice(deviceId), null);
    assert.equal(reader.peekDevice(deviceId), null);
    assert.equal(reader.findProduct(productId), null);
    assert.equal(reader.findCredential('AKNOBODY' as AccessKeyId), null);
    assert.deepEqual(reader.findBridges(keySha256), []);
  });

  test(`${name}: entries are read unchanged`, async (t) => {
    const seen = await founded(await make(t));
    const { reader, writer } = seen;
    const credential = await granted(seen);
    await writer.put('bridge', bridge);
    await seen.synced();
    assert.deepEqual(reader.findDevice(deviceId), device);
    assert.deepEqual(reader.peekDevice(deviceId), device);
    assert.deepEqual(reader.findProduct(productId), product);
    assert.deepEqual(reader.findCredential(credential.accessKeyId), credential);
    assert.deepEqual(reader.findBridges(keySha256), [bridge]);
  });

  test(`${name}: a device that was read before is seen as disabled, and as enabled again`, async (t) => {
    const { reader, writer, synced } = await founded(await make(t));
    for (const disabled of [true, false, true]) {
      assert.notEqual(reader.findDevice(deviceId)?.disabled, disabled);
      await writer.update('device', deviceId, (device) => ({ ...device, disabled }));
      await synced();
      assert.deepEqual(reader.findDevice(deviceId), { ...device, disabled });
      assert.deepEqual(reader.peekDevice(deviceId), { ...device, disabled });
    }
  });

  test(`${name}: a used credential is seen as revoked, and a rotated one along with its successor`, async (t) => {
    const seen = await founded(await make(t));
    const { reader, writer, synced } = seen;
    const [revoked, rotated] = [await granted(seen), await granted(seen)];
    await synced();
    assert.equal(reader.findCredential(revoked.accessKeyId)?.revoked, false);
    await writer.update('credential', revoked.accessKeyId, (credential) => ({
      ...credential,
      revoked: true,
    }));
    const fresh = await writer.rotateCredential(rotated.accessKeyId, 1_900_000_000);
    assert.ok(fresh.ok);
    await synced();
    assert.deepEqual(reader.findCredential(revoked.accessKeyId), { ...revoked, revoked: true });
    assert.equal(reader.findCredential(rotated.accessKeyId)?.notAfter, 1_900_000_000);
    assert.deepEqual(reader.findCredential(fresh.value.accessKeyId), fresh.value);
  });

  test(`${name}: a bridge is seen as revoked, and under its new key`, async (t) => {
    const { reader, writer, synced } = await founded(await make(t));
    await writer.put('bridge', bridge);
    await synced();
    assert.deepEqual(reader.findBridges(keySha256), [bridge]);
    await writer.update('bridge', bridge.bridgeId, (bridge) => ({ ...bridge, revoked: true }));
    await synced();
    assert.deepEqual(reader.findBridges(keySha256), [{ ...bridge, revoked: true }]);
    const other = 'cd'.repeat(32);
    await writer.put('bridge', { ...bridge, keySha256: other });
    await synced();
    assert.deepEqual(reader.findBridges(keySha256), []);
    assert.deepEqual(reader.findBridges(other), [{ ...bridge, keySha256: other }]);
  });

  test(`${name}: removed entries are gone, also if they were read before, and may be added again`, async (t) => {
    const seen = await founded(await make(t));
    const { reader, writer, remove, synced } = seen;
    const { accessKeyId } = await granted(seen);
    await writer.put('bridge', bridge);
    await synced();
    assert.ok(reader.findDevice(deviceId) !== null && reader.findCredential(accessKeyId) !== null);
    await remove('device', deviceId);
    await remove('credential', accessKeyId);
    await remove('bridge', bridge.bridgeId);
    await synced();
    assert.equal(reader.findDevice(deviceId), null);
    assert.equal(reader.findCredential(accessKeyId), null);
    assert.deepEqual(reader.findBridges(keySha256), []);
    await writer.putDevice({ ...device, secret: 'another' });
    await synced();
    assert.equal(reader.findDevice(deviceId)?.secret, 'another');
  });

  test(`${name}: the last of many changes of each entry is seen`, async (t) => {
    const { reader, writer, remove, synced } = await founded(await make(t));
    const ids = Array.from({ length: 20 }, (_, number) => `device-${number}` as DeviceId);
    for (const secret of ['first', 'second', 'third'])
      for (const id of ids) await writer.putDevice({ ...device, deviceId: id, secret });
    for (const id of ids.slice(0, 5)) await remove('device', id);
    await synced();
    assert.deepEqual(
      ids.map((id) => reader.findDevice(id)?.secret ?? null),
      ids.map((_, number) => (number < 5 ? null : 'third')),
    );
  });
}
