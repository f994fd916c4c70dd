import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Device } from '../../../../src/model/registry.ts';
import { proveDevice, secretMark } from '../../../../src/core/devices/device-access.ts';
import { computeSignalMac } from '../../../../src/protocol/signal/controller-message.ts';
import { FakeRegistry, testDevice } from '../../../support/fakes.ts';

const nowS = 1_795_163_400;
const macWith = (secret: string): Buffer => computeSignalMac(secret, 'k'.repeat(32), testDevice);

/** The reason of the refusal or null, and the number of computed proofs. */
function prove(device: Device | null, secret: string): [string | null, number] {
  let computed = 0;
  const computeMac = (known: string): Buffer => {
    computed += 1;
    return macWith(known);
  };
  const proof = proveDevice(device, macWith(secret), computeMac, nowS);
  return [typeof proof === 'string' ? proof : null, computed];
}

const device = new FakeRegistry().addDevice({});

test('a proof with the secret is accepted', () => {
  assert.deepEqual(prove(device, 'device-secret'), [null, 1]);
});

test('every refusal costs the same work, and has its reason: unknown, wrong_mac, disabled or expired', () => {
  assert.deepEqual(prove(null, 'device-secret'), ['unknown', 1]);
  assert.deepEqual(prove(device, 'wrong'), ['wrong_mac', 1]);
  assert.deepEqual(prove({ ...device, disabled: true }, 'device-secret'), ['disabled', 1]);
  assert.deepEqual(prove({ ...device, expiresAt: nowS }, 'device-secret'), ['expired', 1]);
  const both = { ...device, disabled: true, expiresAt: nowS };
  assert.deepEqual([prove(both, 'wrong'), prove(both, 'device-secret')].flat(), [
    'wrong_mac',
    1,
    'disabled',
    1,
  ]);
});

test('the secret for unknown devices is accepted for none', () => {
  assert.deepEqual(prove(null, 'no device has this secret'), ['unknown', 1]);
});

test('a device is accepted until the second it expires', () => {
  assert.deepEqual(prove({ ...device, expiresAt: nowS + 1 }, 'device-secret'), [null, 1]);
});

test('a secret has one mark, a small integer, and no other of many has the same', () => {
  const secrets = Array.from({ length: 2000 }, (_, number) => `secret number ${number}`);
  const marks = secrets.map(secretMark);
  assert.deepEqual(secrets.map(secretMark), marks);
  assert.equal(new Set(marks).size, secrets.length);
  for (const mark of marks) assert.equal(mark, mark | 0);
});
