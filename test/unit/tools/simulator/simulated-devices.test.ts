import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findUsable, sourceAddress } from '../../../../src/tools/simulator/simulated-devices.ts';
import type { DeviceId, ProductId } from '../../../../src/model/ids.ts';
import type { Device } from '../../../../src/model/registry.ts';
import type { RegistryStore } from '../../../../src/storage/registry/registry-store.ts';

function registryOf(devices: readonly Device[]): Pick<RegistryStore, 'page'> {
  const page = (_kind: string, limit: number, after = ''): Device[] =>
    devices.filter(({ deviceId }) => deviceId > after).slice(0, limit);
  return { page: page as RegistryStore['page'] };
}

function device(deviceId: string, more: Partial<Device> = {}): Device {
  const productId = 'doorbell' as ProductId;
  return {
    deviceId: deviceId as DeviceId,
    productId,
    secret: `of ${deviceId}`,
    expiresAt: null,
    disabled: false,
    ...more,
  };
}

const nowS = 1000;

test('only devices that can log in are simulated', () => {
  const devices = [
    device('A', { disabled: true }),
    device('B', { expiresAt: nowS }),
    device('C'),
    device('D'),
  ];
  const found = findUsable(registryOf(devices), { devices: 2 }, nowS);
  assert.deepEqual(found, [
    { deviceId: 'C', secret: 'of C' },
    { deviceId: 'D', secret: 'of D' },
  ]);
});

test('devices are chosen by product and by the beginning of their id', () => {
  const other = { productId: 'lock' as ProductId };
  const registry = registryOf([device('A1'), device('A2', other), device('B1', other)]);
  const ids = (choice: object): string[] =>
    findUsable(registry, { devices: 9, ...choice }, nowS).map(({ deviceId }) => deviceId);
  assert.deepEqual(ids({ product: 'lock' }), ['A2', 'B1']);
  assert.deepEqual(ids({ prefix: 'A' }), ['A1', 'A2']);
});

test('more devices than one page are found, and no more than asked for', () => {
  const many = Array.from({ length: 2500 }, (_, i) => device(String(i).padStart(5, '0')));
  assert.equal(findUsable(registryOf(many), { devices: 2200 }, nowS).length, 2200);
  assert.equal(findUsable(registryOf(many), { devices: 9999 }, nowS).length, 2500);
});

test(
  'a fleet that one address could not hold comes from several',
  { skip: process.platform === 'darwin' },
  () => {
    assert.equal(sourceAddress(0, 900, '127.0.0.1'), undefined);
    assert.equal(sourceAddress(0, 19_000, '10.0.0.5'), undefined);
    assert.equal(sourceAddress(899, 19_000, '127.0.0.1'), '127.0.0.2');
    assert.equal(sourceAddress(900, 19_000, '127.0.0.1'), '127.0.0.3');
    const addresses = new Set(
      Array.from({ length: 1_000_000 }, (_, i) => sourceAddress(i, 1_000_000, '127.0.0.1')),
    );
    assert.equal(addresses.size, Math.ceil(1_000_000 / 900));
    for (const address of addresses) assert.match(String(address), /^127\.0\.\d+\.(?!0$|255$)\d+$/);
  },
);
