import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceId } from '../../../../src/model/ids.ts';
import { proveDevice, secretMark } from '../../../../src/core/devices/device-access.ts';
import { computeSignalMac } from '../../../../src/protocol/signal/controller-message.ts';
import { FakeRegistry, testDevice } from '../../../support/fakes.ts';

const nowS = 1_795_163_400;
const macWith = (secret: string): Buffer => computeSignalMac(secret, 'k'.repeat(32), testDevice);

/** The answer, and the secrets that the work of a proof was done for. */
function prove(registry: FakeRegistry, secret: string, deviceId = testDevice): [boolean, number] {
  let computed = 0;
  const computeMac = (known: string): Buffer => {
    computed += 1;
    return macWith(known);
  };
  const mark = proveDevice(registry, { deviceId, mac: macWith(secret) }, computeMac, nowS);
  return [mark !== null, computed];
}

test('who holds the secret is the device', () => {
  assert.deepEqual(prove(new FakeRegistry(), 'device-secret'), [true, 1]);
});

test('every refusal costs the same work: an unknown, disabled or expired device and a wrong proof', () => {
  const registry = new FakeRegistry();
  assert.deepEqual(prove(registry, 'wrong'), [false, 1]);
  assert.deepEqual(prove(registry, 'device-secret', 'NOBODY' as DeviceId), [false, 1]);
  registry.addDevice({ disabled: true });
  assert.deepEqual(prove(registry, 'device-secret'), [false, 1]);
  registry.addDevice({ expiresAt: nowS });
  assert.deepEqual(prove(registry, 'device-secret'), [false, 1]);
});

test('what an unknown device is checked against opens nothing', () => {
  assert.deepEqual(prove(new FakeRegistry(), 'no device has this secret', 'NOBODY' as DeviceId), [false, 1]);
});

test('a device is itself until the second it expires', () => {
  const registry = new FakeRegistry();
  registry.addDevice({ expiresAt: nowS + 1 });
  assert.deepEqual(prove(registry, 'device-secret'), [true, 1]);
});

test('a registry that cannot be read is thrown, not taken for an unknown device', () => {
  const registry = new FakeRegistry();
  registry.failure = new Error('the store cannot be read');
  assert.throws(() => prove(registry, 'device-secret'), registry.failure);
});

test('a secret has one mark, a small integer, and no other of many has the same', () => {
  const secrets = Array.from({ length: 2000 }, (_, number) => `secret number ${number}`);
  const marks = secrets.map(secretMark);
  assert.deepEqual(secrets.map(secretMark), marks);
  assert.equal(new Set(marks).size, secrets.length);
  for (const mark of marks) assert.equal(mark, mark | 0);
});
