import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isJsonContentType } from '../../../../src/protocol/rest/content-type.ts';
import { decodeWakeupBody, encodeWakeupReceipt } from '../../../../src/protocol/rest/wakeup.ts';
import type { DeviceId } from '../../../../src/model/ids.ts';

function decode(text: string | Uint8Array): ReturnType<typeof decodeWakeupBody> {
  return decodeWakeupBody(typeof text === 'string' ? Buffer.from(text) : text);
}

const good: [string, string, string | null][] = [
  ['a device id alone', '{"device_id":"D"}', null],
  ['custom data in the order written', '{"device_id":"D","custom_data":"0x12aB"}', '12ab'],
  ['zero custom data', '{"device_id":"D","custom_data":"0x0000"}', '0000'],
  ['a field nobody knows', '{"device_id":"D","colour":"red"}', null],
  ['a repeated key, of which the last counts', '{"device_id":5,"device_id":"D"}', null],
  ['space around it', ' \n{"device_id":"D"}\t', null],
  ['an escaped surrogate pair elsewhere', '{"device_id":"D","x":"\\ud83d\\ude00"}', null],
];
for (const [name, text, customData] of good) {
  test(`a wakeup body with ${name} is read`, () => {
    const body = decode(text);
    assert.ok(body.ok);
    assert.equal(body.value.deviceId, 'D');
    assert.equal(
      body.value.customData === null ? null : Buffer.from(body.value.customData).toString('hex'),
      customData,
    );
  });
}

test('custom data is also kept as it was written, for those who are told of it', () => {
  const asked = decode('{"device_id":"D","custom_data":"0x12aB"}');
  const fixed = decode('{"device_id":"D"}');
  assert.ok(asked.ok && fixed.ok);
  assert.deepEqual([asked.value.customDataText, fixed.value.customDataText], ['0x12aB', null]);
});

const bad: [string, string | Uint8Array][] = [
  ['nothing in it', ''],
  ['bad JSON', '{"device_id":"D"'],
  ['an array', '[]'],
  ['a string', '"D"'],
  ['null', 'null'],
  ['a number', '1'],
  ['a byte order mark', '\ufeff{"device_id":"D"}'],
  [
    'bytes that are not UTF-8',
    Buffer.concat([Buffer.from('{"device_id":"'), Buffer.from([0xff]), Buffer.from('"}')]),
  ],
  [
    'an encoded surrogate',
    Buffer.concat([Buffer.from('{"device_id":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
  ],
  ['a lone surrogate escape', '{"device_id":"\\ud800"}'],
  ['a lone surrogate escape in another field', '{"device_id":"D","x":["\\uDFFF"]}'],
  ['a lone surrogate escape in a key', '{"device_id":"D","\\udead":1}'],
  ['no device id', '{}'],
  ['a null device id', '{"device_id":null}'],
  ['a number for a device id', '{"device_id":7}'],
  ['an empty device id', '{"device_id":""}'],
  ['a device id of 256 bytes', `{"device_id":"${'x'.repeat(256)}"}`],
  ['null custom data', '{"device_id":"D","custom_data":null}'],
  ['empty custom data', '{"device_id":"D","custom_data":""}'],
  ['an upper-case 0X', '{"device_id":"D","custom_data":"0X12ab"}'],
  ['no 0x', '{"device_id":"D","custom_data":"12ab"}'],
  ['three digits', '{"device_id":"D","custom_data":"0x12a"}'],
  ['five digits', '{"device_id":"D","custom_data":"0x12abc"}'],
  ['a digit that is no hex', '{"device_id":"D","custom_data":"0x12ag"}'],
  ['a line feed behind', '{"device_id":"D","custom_data":"0x12ab\\n"}'],
];
for (const [name, text] of bad) {
  test(`a wakeup body with ${name} is refused`, () => {
    assert.equal(decode(text).ok, false);
  });
}

for (const value of ['1', 'true', '[]', '{}', 'null', '4779']) {
  test(`custom data that is ${value} is refused with the stable message`, () => {
    assert.deepEqual(decode(`{"device_id":"D","custom_data":${value}}`), {
      ok: false,
      error: 'custom_data must be a string',
    });
  });
}

test('a body nested to its limit neither overflows nor hides a lone surrogate', () => {
  const deep = `{"device_id":"D","x":${'['.repeat(30_000)}"\\ud800"${']'.repeat(30_000)}}`;
  assert.equal(decode(deep).ok, false);
});

test('a receipt carries milliseconds and a numeric offset', () => {
  const receipt = encodeWakeupReceipt({
    deviceId: 'D' as DeviceId,
    acceptedAtMs: Date.UTC(2026, 10, 20, 8, 30, 0, 123),
  });
  assert.equal(
    receipt,
    '{"device_id":"D","status":"accepted","accepted_at":"2026-11-20T08:30:00.123+00:00"}',
  );
});

test('application/json is taken in any case, with a charset of utf-8 or none', () => {
  const taken = [
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json; charset="utf-8"',
  ];
  const refused = [
    undefined,
    '',
    'text/plain',
    'application/jsonp',
    'application/json; charset=latin1',
    'application/json; profile=x',
    'text/json',
  ];
  for (const value of taken) assert.equal(isJsonContentType(value), true, value);
  for (const value of refused) assert.equal(isJsonContentType(value), false, value);
});
