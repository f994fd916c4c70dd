import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceId, MessageId } from '../../../../src/model/ids.ts';
import { messagePayloadBytesMax, messagePayloadDepthMax } from '../../../../src/model/limits.ts';
import { decodeMessageBody, encodeMessageReceipt } from '../../../../src/protocol/rest/device-requests.ts';

function decode(text: string): ReturnType<typeof decodeMessageBody> {
  return decodeMessageBody(Buffer.from(text));
}

function withPayload(payload: string): string {
  return `{"device_id":"D","name":"n","payload":${payload}}`;
}

function payloadOf(bytes: number, character = 'x'): string {
  const frame = '{"a":""}'.length;
  const room = bytes - frame;
  const width = Buffer.byteLength(character);
  return `{"a":"${character.repeat(Math.floor(room / width))}${'x'.repeat(room % width)}"}`;
}

function nested(depth: number): string {
  return `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
}

const good: [string, string, unknown][] = [
  ['an empty payload', '{}', {}],
  ['a payload with everything JSON has', '{"a":[1,-2.5e3,true,null,"é\\ud83d\\ude00"],"b":{"c":{}}}', null],
  ['a key that names no field here', '{"__proto__":{"a":1},"toJSON":"x","constructor":1}', null],
  ['a repeated key, of which the last counts', '{"a":1,"a":2}', { a: 2 }],
  ['a payload of 8 KiB', payloadOf(messagePayloadBytesMax), null],
  ['a payload of 8 KiB of two-byte characters', payloadOf(messagePayloadBytesMax, 'é'), null],
  [
    'a payload that is 8 KiB without its spaces',
    payloadOf(messagePayloadBytesMax).replace(':', ': \n\t '),
    null,
  ],
  ['a payload as deep as may be', nested(messagePayloadDepthMax), null],
];
for (const [name, payload, expected] of good) {
  test(`a message with ${name} is decoded`, () => {
    const body = decode(withPayload(payload));
    assert.ok(body.ok, JSON.stringify(body));
    assert.equal(body.value.deviceId, 'D');
    assert.equal(body.value.payload, JSON.stringify(expected ?? JSON.parse(payload)));
  });
}

for (const name of ['a', '_', '0', 'msga_join_voip_room', 'x'.repeat(64)]) {
  test(`the name ${name} is accepted`, () => {
    const body = decode(`{"device_id":"D","name":"${name}","payload":{}}`);
    assert.equal(body.ok && body.value.name, name);
  });
}

const badNames = [
  '""',
  '"A"',
  '"a-b"',
  '"a b"',
  '"a\\n"',
  '"é"',
  `"${'x'.repeat(65)}"`,
  'null',
  '1',
  '["a"]',
  '{}',
];
for (const name of badNames) {
  test(`the name ${name} is refused, and the answer names the field`, () => {
    const body = decode(`{"device_id":"D","name":${name},"payload":{}}`);
    assert.match(body.ok ? '' : body.error, /^name /);
  });
}

const badPayloads: [string, string][] = [
  ['null', 'null'],
  ['an array', '[]'],
  ['a string', '"{}"'],
  ['a number', '1'],
  ['8 KiB and a byte', payloadOf(messagePayloadBytesMax + 1)],
  ['8 KiB and a byte in two-byte characters', payloadOf(messagePayloadBytesMax + 1, 'é')],
  ['too deep', nested(messagePayloadDepthMax + 1)],
  ['so deep that it would overflow', nested(30_000)],
  ['holding a number no double can be', '{"a":[1e400]}'],
];
for (const [name, payload] of badPayloads) {
  test(`a payload that is ${name} is refused, and the answer names the field`, () => {
    const body = decode(withPayload(payload));
    assert.match(body.ok ? '' : body.error, /^payload /);
  });
}

const waits: [string, boolean, number][] = [
  ['', false, 20_000],
  [',"wake":false,"wait":5', false, 5000],
  [',"wake":true', true, 20_000],
  [',"wake":true,"wait":0', true, 0],
  [',"wake":true,"wait":1.2344', true, 1234],
  [',"wake":true,"wait":30', true, 30_000],
];
for (const [fields, wake, waitMs] of waits) {
  test(`a message with these fields, or none, may wake or not: ${fields}`, () => {
    const body = decode(`{"device_id":"D","name":"n","payload":{}${fields}}`);
    assert.deepEqual(body.ok && [body.value.wake, body.value.waitMs], [wake, waitMs]);
  });
}

for (const wake of ['null', '1', '"true"', '[]', '{}']) {
  test(`wake of ${wake} is refused, and the answer names the field`, () => {
    const body = decode(`{"device_id":"D","name":"n","payload":{},"wake":${wake}}`);
    assert.match(body.ok ? '' : body.error, /^wake /);
  });
}

for (const wait of ['null', '"5"', '-1', '30.001', '31', '1e400', 'true', '[5]']) {
  test(`wait of ${wait} is refused, with wake and without, and the answer names the field`, () => {
    for (const wake of [true, false]) {
      const body = decode(`{"device_id":"D","name":"n","payload":{},"wake":${wake},"wait":${wait}}`);
      assert.match(body.ok ? '' : body.error, /^wait /);
    }
  });
}

const badBodies: [string, string, RegExp][] = [
  ['no JSON object in it', '[]', /^body/],
  ['no device id', '{"name":"n","payload":{}}', /^device_id /],
  ['an empty device id', '{"device_id":"","name":"n","payload":{}}', /^device_id /],
  ['a device id of 256 bytes', `{"device_id":"${'x'.repeat(256)}","name":"n","payload":{}}`, /^device_id /],
  ['no name', '{"device_id":"D","payload":{}}', /^name is missing/],
  ['no payload', '{"device_id":"D","name":"n"}', /^payload is missing/],
];
for (const [name, text, message] of badBodies) {
  test(`a message body with ${name} is refused`, () => {
    const body = decode(text);
    assert.match(body.ok ? '' : body.error, message);
  });
}

test('a receipt has device, id and the time in milliseconds with a numeric offset', () => {
  assert.equal(
    encodeMessageReceipt({
      deviceId: 'D"' as DeviceId,
      id: '019aa000-0000-7000-8000-000000000000' as MessageId,
      acknowledgedAtMs: Date.UTC(2026, 10, 20, 8, 30, 0, 123),
    }),
    '{"device_id":"D\\"","id":"019aa000-0000-7000-8000-000000000000",' +
      '"acknowledged_at":"2026-11-20T08:30:00.123+00:00"}',
  );
});
