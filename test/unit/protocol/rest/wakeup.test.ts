import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isJsonContentType } from '../../../../src/protocol/rest/shared-fields.ts';
import {
  decodeWakeupBody,
  encodeWakeupReceipt,
  decodeWakeupOutcomeQuery,
  encodeWakeupRecord,
} from '../../../../src/protocol/rest/wakeup.ts';
import type { DeviceId, RequestId } from '../../../../src/model/ids.ts';
import type { WakeupRecord } from '../../../../src/model/wakeup.ts';

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

const goodQueries: [string, string, string, number][] = [
  ['a request id alone', 'request_id=r-1', 'r-1', 0],
  ['a wait of nothing', 'request_id=r-1&wait=0', 'r-1', 0],
  ['the longest wait', 'request_id=r-1&wait=30', 'r-1', 30_000],
  ['the longest wait with decimals', 'request_id=r-1&wait=30.000', 'r-1', 30_000],
  ['a wait with decimals', 'wait=2.5&request_id=r-1', 'r-1', 2500],
  ['three decimals', 'request_id=r-1&wait=0.007', 'r-1', 7],
  ['milliseconds that binary fractions miss', 'request_id=r-1&wait=1.001', 'r-1', 1001],
  ['a space and a tilde in the id', 'request_id=+a%20~', ' a ~', 0],
  ['128 characters', `request_id=${'x'.repeat(128)}`, 'x'.repeat(128), 0],
  ['a key nobody asked for', 'request_id=r-1&x=1', 'r-1', 0],
];
for (const [name, query, requestId, waitMs] of goodQueries) {
  test(`an outcome query with ${name} is read`, () => {
    assert.deepEqual(decodeWakeupOutcomeQuery(query), { ok: true, value: { requestId, waitMs } });
  });
}

const badQueries: [string, string][] = [
  ['nothing', ''],
  ['a wait alone', 'wait=1'],
  ['an empty id', 'request_id='],
  ['an id of 129 characters', `request_id=${'x'.repeat(129)}`],
  ['an id that is not ASCII', 'request_id=%C3%A9'],
  ['a control character in the id', 'request_id=a%0A'],
  ['two ids', 'request_id=a&request_id=b'],
  ['a bad escape', 'request_id=%zz'],
  ['an empty wait', 'request_id=r-1&wait='],
  ['a negative wait', 'request_id=r-1&wait=-1'],
  ['a wait beyond 30 s', 'request_id=r-1&wait=30.001'],
  ['a wait of 31 s', 'request_id=r-1&wait=31'],
  ['a wait of three digits', 'request_id=r-1&wait=007'],
  ['four decimals', 'request_id=r-1&wait=1.0001'],
  ['a point and no decimals', 'request_id=r-1&wait=1.'],
  ['decimals and no whole', 'request_id=r-1&wait=.5'],
  ['an exponent', 'request_id=r-1&wait=1e1'],
  ['a sign', 'request_id=r-1&wait=%2B1'],
  ['a space before the wait', 'request_id=r-1&wait=+1'],
  ['a unit', 'request_id=r-1&wait=1s'],
  ['hexadecimal', 'request_id=r-1&wait=0x1'],
  ['a line feed behind', 'request_id=r-1&wait=1%0A'],
  ['two waits', 'request_id=r-1&wait=1&wait=1'],
  ['digits of another script', 'request_id=r-1&wait=%D9%A1'],
];
for (const [name, query] of badQueries) {
  test(`an outcome query with ${name} is refused`, () => {
    assert.equal(decodeWakeupOutcomeQuery(query).ok, false);
  });
}

const accepted: WakeupRecord = {
  deviceId: 'D"1' as DeviceId,
  status: 'accepted',
  isAwaited: true,
  begunAtMs: 0,
  acceptedAtMs: Date.UTC(2026, 10, 20, 8, 30, 0, 123),
  completedAtMs: null,
  wokeAfterMs: null,
  alreadyOnline: false,
  cause: null,
  sleepEpoch: 1,
  isCallersId: true,
  bodySha256: '00',
  watcher: null,
};

test('what is not known yet is null, and nothing is left out', () => {
  assert.equal(
    encodeWakeupRecord('r-1' as RequestId, accepted),
    '{"request_id":"r-1","device_id":"D\\"1","status":"accepted",' +
      '"accepted_at":"2026-11-20T08:30:00.123+00:00","completed_at":null,"woke_after_ms":null,' +
      '"already_online":false,"cause":null}',
  );
});

test('a completed wakeup says when, after how long, and what woke the device', () => {
  const completed: WakeupRecord = {
    ...accepted,
    status: 'completed',
    isAwaited: false,
    completedAtMs: Date.UTC(2026, 10, 20, 8, 30, 2, 468),
    wokeAfterMs: 2345,
    cause: 'remote',
  };
  assert.deepEqual(JSON.parse(encodeWakeupRecord('r-1' as RequestId, completed)), {
    request_id: 'r-1',
    device_id: 'D"1',
    status: 'completed',
    accepted_at: '2026-11-20T08:30:00.123+00:00',
    completed_at: '2026-11-20T08:30:02.468+00:00',
    woke_after_ms: 2345,
    already_online: false,
    cause: 'remote',
  });
});
