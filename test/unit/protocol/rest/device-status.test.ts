import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeCallStatus } from '../../../../src/protocol/rest/device-status.ts';
import { decodeDeviceQuery } from '../../../../src/protocol/rest/shared-fields.ts';

const good = [
  ['device_id=D', 'D'],
  ['other=1&device_id=a%20b+c&', 'a b c'],
  ['device_id=%C3%A9%00', 'é\u0000'],
] as const;
for (const [query, deviceId] of good)
  test(`the call status of ${JSON.stringify(deviceId)} is asked by ${query}`, () => {
    assert.deepEqual(decodeDeviceQuery(query), { ok: true, value: deviceId });
  });

const bad = [
  ['', 'device_id is missing'],
  ['device=D', 'device_id is missing'],
  ['device_id=', 'device_id must be 1-255 bytes of valid UTF-8'],
  [`device_id=${'x'.repeat(256)}`, 'device_id must be 1-255 bytes of valid UTF-8'],
  ['device_id=D&device_id=D', 'query: "device_id" is given twice'],
  ['device_id=%', 'query: a percent escape is malformed or not UTF-8'],
  ['device_id=%ff', 'query: a percent escape is malformed or not UTF-8'],
] as const;
for (const [query, message] of bad)
  test(`the query ${JSON.stringify(query.slice(0, 30))} is refused: ${message}`, () => {
    assert.deepEqual(decodeDeviceQuery(query), { ok: false, error: message });
  });

test('a call status is one word', () => {
  assert.deepEqual(
    [encodeCallStatus(true), encodeCallStatus(false)],
    ['{"in_call":true}', '{"in_call":false}'],
  );
});
