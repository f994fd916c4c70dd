import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseQuery, decodeDeviceQuery } from '../../../../src/protocol/rest/shared-fields.ts';
import { encodeConnectivityRecord } from '../../../../src/protocol/rest/device-status.ts';
import type { DeviceId } from '../../../../src/model/ids.ts';

const good: [string, string, [string, string][]][] = [
  ['no query', '', []],
  ['one pair', 'device_id=A', [['device_id', 'A']]],
  ['a plus is a space', 'a=b+c', [['a', 'b c']]],
  ['an escaped plus is a plus', 'a=b%2Bc', [['a', 'b+c']]],
  ['an escape in either case', 'a=%c3%A9', [['a', 'é']]],
  ['a key without a value', 'a', [['a', '']]],
  ['an equals sign in a value', 'a=b=c', [['a', 'b=c']]],
  [
    'empty parts',
    '&a=1&&b=2&',
    [
      ['a', '1'],
      ['b', '2'],
    ],
  ],
  ['a NUL', 'a=%00', [['a', '\0']]],
  ['a byte order mark', 'a=%EF%BB%BF', [['a', '\ufeff']]],
  ['an escaped replacement character', 'a=%EF%BF%BD', [['a', '\ufffd']]],
];
for (const [name, raw, pairs] of good) {
  test(`a query with ${name} is read`, () => {
    const parsed = parseQuery(raw);
    assert.ok(parsed.ok);
    assert.deepEqual([...parsed.value], pairs);
  });
}

const bad: [string, string][] = [
  ['a repeated key', 'a=1&a=1'],
  ['a key repeated under an escape', 'a=1&%61=2'],
  ['a repeated key nobody asked for', 'device_id=x&z=1&z=2'],
  ['a cut escape', 'a=%4'],
  ['an escape that is no hex', 'a=%zz'],
  ['a lone percent sign', 'a=%'],
  ['a bad escape in a key', '%zz=1'],
  ['a cut UTF-8 sequence', 'a=%c3'],
  ['an overlong UTF-8 sequence', 'a=%c0%80'],
  ['an encoded surrogate', 'a=%ed%a0%80'],
  ['a byte that was never UTF-8', 'a=\ufffd'],
];
for (const [name, raw] of bad) {
  test(`a query with ${name} is refused`, () => {
    assert.equal(parseQuery(raw).ok, false);
  });
}

test('a device id is 1 to 255 bytes of UTF-8, not characters', () => {
  const decode = (id: string): boolean => decodeDeviceQuery(`device_id=${encodeURIComponent(id)}`).ok;
  assert.equal(decode('x'), true);
  assert.equal(decode('x'.repeat(255)), true);
  assert.equal(decode('x'.repeat(256)), false);
  assert.equal(decode('é'.repeat(127)), true);
  assert.equal(decode('é'.repeat(128)), false);
  assert.equal(decode('😀'.repeat(63)), true);
  assert.equal(decode('😀'.repeat(64)), false);
  assert.equal(decode(''), false);
  assert.equal(decodeDeviceQuery('').ok, false);
});

test('a connectivity record is JSON whatever the device id holds', () => {
  const record = {
    deviceId: 'a"\\\n\u2028😀' as DeviceId,
    signal: { isOnline: false, lastLoginAt: null, lastHeartbeatAt: null, lastOfflineAt: null },
    sleep: { lastLoginAt: 1, lastHeartbeatAt: 2, lastOfflineAt: null },
  };
  assert.deepEqual(JSON.parse(encodeConnectivityRecord(record)), {
    device_id: record.deviceId,
    signal: { is_online: false, last_login_at: null, last_heartbeat_at: null, last_offline_at: null },
    sleep: { last_login_at: 1, last_heartbeat_at: 2, last_offline_at: null },
  });
});
