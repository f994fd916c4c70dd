import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decideDevices } from '../../../../src/core/devices/decide-device.ts';
import type { DeviceId, ProductId } from '../../../../src/model/ids.ts';
import type { DeviceOrder } from '../../../../src/model/provisioning.ts';
import { registryNotices } from '../../../../src/model/state/registry-event.ts';
import { FakeRegistry, otherApp, testApp, testDevice } from '../../../support/fakes.ts';

function decide(
  registry: FakeRegistry,
  orders: readonly DeviceOrder[],
  isRepeat = false,
  devicesMax: number | null = null,
) {
  let made = 0;
  const makeSecret = (): string => `secret ${++made}`;
  return decideDevices(registry, orders, { appId: testApp, isRepeat, makeSecret, devicesMax });
}

const doorbell = 'doorbell' as ProductId;
const foreign = 'foreign' as ProductId;
const newDevice = 'NEW' as DeviceId;
const addition: DeviceOrder = {
  kind: 'add',
  deviceId: newDevice,
  productId: doorbell,
  secret: null,
  expiresAt: null,
  disabled: false,
  labels: null,
};

function withForeign(): FakeRegistry {
  const registry = new FakeRegistry();
  registry.products.set(foreign, { productId: foreign, appIds: [otherApp] });
  return registry;
}

test('an addition makes a secret once, also where it stands twice in a request', () => {
  const { result, changes } = decide(new FakeRegistry(), [addition, addition]);
  assert.deepEqual(
    result.map(({ code, secret, isChanged }) => [code, secret, isChanged]),
    [
      [0, 'secret 1', true],
      [0, null, false],
    ],
  );
  assert.equal(changes.length, 1);
  assert.deepEqual([changes[0]?.before, changes[0]?.after?.secret], [null, 'secret 1']);
});

test('a device of another application is not changed, and its product accepts no addition', () => {
  const registry = withForeign();
  registry.addDevice({ deviceId: newDevice, productId: foreign });
  const orders: readonly DeviceOrder[] = [
    addition,
    { ...addition, productId: foreign },
    { ...addition, productId: 'none' as ProductId },
    { kind: 'change', deviceId: newDevice, disabled: true },
    { kind: 'remove', deviceId: newDevice },
  ];
  const { result, changes } = decide(registry, orders);
  assert.deepEqual(
    result.map(({ code, device }) => [code, device]),
    orders.map(() => [40302, null]),
  );
  assert.deepEqual(changes, []);
});

test('a disabled device exists for its own application, and for no other', () => {
  const registry = withForeign();
  registry.addDevice({ disabled: true });
  registry.addDevice({ deviceId: newDevice, productId: foreign, disabled: true });
  const codes = decide(registry, [
    { kind: 'change', deviceId: testDevice, disabled: false },
    { kind: 'change', deviceId: newDevice, disabled: false },
    { kind: 'remove', deviceId: newDevice },
  ]).result.map(({ code }) => code);
  assert.deepEqual(codes, [0, 40403, 40403]);
});

test('a repeat of an executed order changes nothing and reveals no secret', () => {
  const registry = new FakeRegistry();
  const orders: readonly DeviceOrder[] = [
    addition,
    { kind: 'change', deviceId: testDevice, secret: true },
    { kind: 'remove', deviceId: testDevice },
    { kind: 'remove', deviceId: 'GONE' as DeviceId },
  ];
  const { result, changes } = decide(registry, orders, true);
  assert.deepEqual(
    result.map(({ code, secret }) => [code, secret]),
    [
      [40403, null],
      [0, null],
      [0, null],
      [0, null],
    ],
  );
  assert.deepEqual(changes, []);
});

test('a device that moves to another product is counted there and no longer in the old one', () => {
  const registry = new FakeRegistry();
  const before = registry.addDevice({});
  const after = { ...before, productId: foreign, disabled: true };
  const notices = registryNotices({ deviceId: testDevice, before, after }, { by: null, atMs: 1 });
  assert.deepEqual(
    notices.map(({ productId, event }) => [productId, event.type]),
    [
      [doorbell, 'device.registry.removed'],
      [foreign, 'device.registry.added'],
    ],
  );
});

test('an application that has as many devices as it may have adds none, and changes and removes those that it has', () => {
  const registry = withForeign();
  registry.addDevice({ deviceId: 'THEIRS' as DeviceId, productId: foreign });
  const second = { ...addition, deviceId: 'SECOND' as DeviceId };
  const known = { ...addition, deviceId: testDevice, secret: 'device-secret' };
  const { result, changes } = decide(registry, [known, addition, addition, second], false, 2);
  assert.deepEqual(
    result.map(({ code, isChanged }) => [code, isChanged]),
    [
      [0, false],
      [0, true],
      [0, false],
      [42901, false],
    ],
  );
  assert.equal(changes.length, 1);
  const removal = { kind: 'remove', deviceId: testDevice } as const;
  assert.deepEqual(
    [removal, { kind: 'change', deviceId: testDevice, disabled: true } as const].map(
      (order) => decide(registry, [order], false, 1).result[0]?.code,
    ),
    [0, 0],
  );
});
