import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressKey } from '../../../src/lib/connections/address-key.ts';

test('an IPv4 address is its own key', () => {
  assert.equal(addressKey('203.0.113.7'), '203.0.113.7');
});

test('an IPv4-mapped IPv6 address is the same address', () => {
  for (const mapped of ['::ffff:203.0.113.7', '::ffff:cb00:7107', '0:0:0:0:0:ffff:cb00:7107'])
    assert.equal(addressKey(mapped), '203.0.113.7');
});

test('IPv6 addresses of one /64 count as one, however they are written', () => {
  const neighbours = ['2001:db8::1', '2001:db8:0:0:ffff::2', '2001:0db8:0000:0000:1:2:3:4', '2001:db8::'];
  for (const address of neighbours) assert.equal(addressKey(address), '2001:db8:0:0/64');
});

test('IPv6 addresses of different /64s count apart', () => {
  assert.notEqual(addressKey('2001:db8:0:1::1'), addressKey('2001:db8:0:2::1'));
});

test('a zone does not matter', () => {
  assert.equal(addressKey('fe80::1%eth0'), 'fe80:0:0:0/64');
  assert.equal(addressKey('::1'), '0:0:0:0/64');
});
