import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  decodeDeviceQuery,
  decodeWait,
  parseJsonObject,
  parseQuery,
} from '../../../../src/protocol/rest/shared-fields.ts';
import { encodeCallStatus, encodeConnectivityRecord } from '../../../../src/protocol/rest/device-requests.ts';
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

const goodDevices = [
  ['device_id=D', 'D'],
  ['other=1&device_id=a%20b+c&', 'a b c'],
  ['device_id=%C3%A9%00', 'é\u0000'],
] as const;
for (const [query, deviceId] of goodDevices)
  test(`the call status of ${JSON.stringify(deviceId)} is queried by ${query}`, () => {
    assert.deepEqual(decodeDeviceQuery(query), { ok: true, value: deviceId });
  });

const badDevices = [
  ['', 'device_id is missing'],
  ['device=D', 'device_id is missing'],
  ['device_id=', 'device_id must be 1-255 bytes of valid UTF-8'],
  [`device_id=${'x'.repeat(256)}`, 'device_id must be 1-255 bytes of valid UTF-8'],
  ['device_id=D&device_id=D', 'query: "device_id" is given twice'],
  ['device_id=%', 'query: a percent escape is malformed or not UTF-8'],
  ['device_id=%ff', 'query: a percent escape is malformed or not UTF-8'],
] as const;
for (const [query, message] of badDevices)
  test(`the query ${JSON.stringify(query.slice(0, 30))} is refused: ${message}`, () => {
    assert.deepEqual(decodeDeviceQuery(query), { ok: false, error: message });
  });

test('a call status is one word', () => {
  assert.deepEqual(
    [encodeCallStatus(true), encodeCallStatus(false)],
    ['{"in_call":true}', '{"in_call":false}'],
  );
});

const waits: [string | undefined, number][] = [
  [undefined, 0],
  ['0', 0],
  ['1', 1000],
  ['30', 30_000],
  ['30.000', 30_000],
  ['2.5', 2500],
  ['0.001', 1],
  ['0.007', 7],
  ['1.001', 1001],
  ['1.005', 1005],
];
test('a wait is 0 to 30 seconds with at most three decimals, in whole milliseconds', () => {
  for (const [text, waitMs] of waits) assert.deepEqual(decodeWait(text), { ok: true, value: waitMs }, text);
});

test('any other wait is refused', () => {
  const refused = ['', '-1', '+1', ' 1', '1 ', '1\n', '30.001', '31', '007', '1.', '.5', '0.0001', '1.0001'];
  for (const text of [...refused, '1e1', '1s', '0x1', '1,5', 'NaN', 'Infinity', '\u0661'])
    assert.match(JSON.stringify(decodeWait(text)), /"wait must be /, text);
});

const objects = ['{}', ' \n{"a":1}\t', '{"x":"\\ud83d\\ude00"}', '{"__proto__":1}'];
test('a body is one JSON object, with space around it', () => {
  for (const text of objects)
    assert.deepEqual(parseJsonObject(Buffer.from(text)), { ok: true, value: JSON.parse(text) }, text);
});

const noObjects: [string, Uint8Array | string][] = [
  ['nothing', ''],
  ['bad JSON', '{"device_id":"D"'],
  ['an array', '[]'],
  ['a string', '"D"'],
  ['null', 'null'],
  ['a number', '1'],
  ['behind a byte order mark', '\ufeff{"a":1}'],
  ['of bytes that are not UTF-8', Buffer.from('{"a":"\xff"}', 'latin1')],
  ['of an encoded surrogate', Buffer.from('{"a":"\xed\xa0\x80"}', 'latin1')],
  ['of a lone surrogate escape', '{"a":"\\ud800"}'],
  ['of a lone surrogate escape deep inside', '{"a":"D","x":["\\uDFFF"]}'],
  ['of a lone surrogate escape in a key', '{"a":"D","\\udead":1}'],
  [
    'of a lone surrogate at the end of its nesting',
    `{"x":${'['.repeat(30_000)}"\\ud800"${']'.repeat(30_000)}}`,
  ],
];
for (const [name, body] of noObjects)
  test(`a body ${name} is refused as a whole`, () => {
    const parsed = parseJsonObject(typeof body === 'string' ? Buffer.from(body) : body);
    assert.match(parsed.ok ? '' : parsed.error, /^body: /);
  });
