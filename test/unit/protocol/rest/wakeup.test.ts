import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  decodeWakeupBody,
  encodeWakeupReceipt,
  decodeWakeupOutcomeQuery,
  encodeWakeupRecord,
} from '../../../../src/protocol/rest/device-requests.ts';
import type { DeviceId, RequestId } from '../../../../src/model/ids.ts';
import { acceptedWakeup } from '../../../support/stored-wakeups.ts';

function decode(text: string): ReturnType<typeof decodeWakeupBody> {
  return decodeWakeupBody(Buffer.from(text));
}

const good: [string, string, string | null][] = [
  ['a device id alone', '{"device_id":"D"}', null],
  ['custom data in the order written', '{"device_id":"D","custom_data":"0x12aB"}', '12ab'],
  ['zero custom data', '{"device_id":"D","custom_data":"0x0000"}', '0000'],
  ['a field nobody knows', '{"device_id":"D","colour":"red"}', null],
  ['a repeated key, of which the last counts', '{"device_id":5,"device_id":"D"}', null],
];
for (const [name, text, customData] of good) {
  test(`a wakeup body with ${name} is decoded`, () => {
    const body = decode(text);
    assert.ok(body.ok);
    assert.equal(body.value.deviceId, 'D');
    assert.equal(
      body.value.customData === null ? null : Buffer.from(body.value.customData).toString('hex'),
      customData,
    );
  });
}

test('custom data is also kept as written, for events', () => {
  const asked = decode('{"device_id":"D","custom_data":"0x12aB"}');
  const fixed = decode('{"device_id":"D"}');
  assert.ok(asked.ok && fixed.ok);
  assert.deepEqual([asked.value.customDataText, fixed.value.customDataText], ['0x12aB', null]);
});

const bad: [string, string][] = [
  ['no JSON object', '[]'],
  ['no device id', '{}'],
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

const goodQueries: [string, string, string, number, string?][] = [
  ['a request id alone', 'request_id=r-1', 'r-1', 0],
  ['a wait', 'wait=2.5&request_id=r-1', 'r-1', 2500],
  ['a space and a tilde in the id', 'request_id=+a%20~', ' a ~', 0],
  ['128 characters', `request_id=${'x'.repeat(128)}`, 'x'.repeat(128), 0],
  ['a key nobody asked for', 'request_id=r-1&x=1', 'r-1', 0],
  ['a device', 'request_id=r-1&device_id=D%C3%BC+1', 'r-1', 0, 'Dü 1'],
];
for (const [name, query, requestId, waitMs, deviceId = null] of goodQueries) {
  test(`an outcome query with ${name} is decoded`, () => {
    assert.deepEqual(decodeWakeupOutcomeQuery(query), { ok: true, value: { requestId, deviceId, waitMs } });
  });
}

const badQueries: [string, string][] = [
  ['nothing', ''],
  ['a wait alone', 'wait=1'],
  ['an empty id', 'request_id='],
  ['an id of 129 characters', `request_id=${'x'.repeat(129)}`],
  ['an id that is not ASCII', 'request_id=%C3%A9'],
  ['a control character in the id', 'request_id=a%0A'],
  ['a wait beyond 30 s', 'request_id=r-1&wait=30.001'],
  ['an empty device', 'request_id=r-1&device_id='],
];
for (const [name, query] of badQueries) {
  test(`an outcome query with ${name} is refused`, () => {
    assert.equal(decodeWakeupOutcomeQuery(query).ok, false);
  });
}

const accepted = acceptedWakeup({
  deviceId: 'D"1' as DeviceId,
  status: 'accepted',
  acceptedAtMs: Date.UTC(2026, 10, 20, 8, 30, 0, 123),
  completedAtMs: null,
  wokeAfterMs: null,
  alreadyOnline: false,
  cause: null,
});

test('unknown values are null, and no field is omitted', () => {
  assert.equal(
    encodeWakeupRecord('r-1' as RequestId, accepted),
    '{"request_id":"r-1","device_id":"D\\"1","status":"accepted",' +
      '"accepted_at":"2026-11-20T08:30:00.123+00:00","completed_at":null,"woke_after_ms":null,' +
      '"already_online":false,"cause":null}',
  );
});
