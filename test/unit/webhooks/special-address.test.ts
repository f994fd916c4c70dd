import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refuseAddress, specialRange } from '../../../src/webhooks/special-address.ts';

const special = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '100.64.0.1',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.8',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::7f00:1',
  '::ffff:127.0.0.1',
  '::ffff:10.0.0.1',
  '::ffff:a9fe:a9fe',
  '64:ff9b::7f00:1',
  '64:ff9b::808:808',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '4000::1',
  'fc00::1',
  'fd12:3456::1',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
  '',
  'backend.example',
  '127.0.0.1:80',
];

for (const address of special)
  test(`a webhook may not go to "${address}"`, () => {
    assert.notEqual(specialRange(address), null);
    assert.notEqual(refuseAddress(address, false), null);
    assert.equal(refuseAddress(address, true), null, 'unless the setting says so');
  });

for (const address of [
  '1.1.1.1',
  '8.8.8.8',
  '::ffff:8.8.8.8',
  '172.32.0.1',
  '2606:4700:4700::1111',
  '2a00:1450::1',
])
  test(`a webhook may go to ${address}`, () => {
    assert.equal(specialRange(address), null);
    assert.equal(refuseAddress(address, false), null);
  });

test('the refusal names the address, what is special about it, and the setting', () => {
  const refusal = refuseAddress('::ffff:10.0.0.1', false);
  assert.match(refusal ?? '', /^::ffff:10\.0\.0\.1 .*private.*webhooks\.allow_local/);
});
