import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Result } from '../../../../src/lib/result.ts';
import { readCallBody } from '../../../../src/protocol/rest/call-credentials.ts';
import { decodeCallEndBody } from '../../../../src/protocol/rest/call-end.ts';
import { decodeConnectivityBatchBody } from '../../../../src/protocol/rest/connectivity-batch.ts';
import {
  decodeMessageBody,
  decodeWakeupBody,
  decodeWakeupOutcomeQuery,
} from '../../../../src/protocol/rest/device-requests.ts';
import { decodeEventsQuery } from '../../../../src/protocol/rest/events.ts';
import {
  decodeAdditions,
  decodeDeviceListing,
  decodeModification,
} from '../../../../src/protocol/rest/provisioning.ts';
import { decodeDeviceQuery } from '../../../../src/protocol/rest/shared-fields.ts';

type Decode<Given> = (given: Given) => Result<unknown, string>;

const rules = { allowShortSecrets: false };

function body(decode: (bytes: Uint8Array) => Result<unknown, string>): Decode<object> {
  return (fields) => decode(Buffer.from(JSON.stringify(fields)));
}

const message = body(decodeMessageBody);
const batch = body(decodeConnectivityBatchBody);
const callEnd = body(decodeCallEndBody);
const additions = body((bytes) => decodeAdditions(bytes, rules));
const modification = body((bytes) => decodeModification(bytes, rules));
const removal: Decode<string> = (query) => decodeDeviceQuery(query, 'device-remove');

const aMessage = { device_id: 'D', name: 'n', payload: {} };

const mistakenFields: readonly (readonly [decode: Decode<object>, fields: object, error: string])[] = [
  [message, { ...aMessage, wate: 5 }, 'unknown field "wate"; did you mean wake?'],
  [message, { ...aMessage, wiat: 5 }, 'unknown field "wiat"; did you mean wait?'],
  [message, { deviceId: 'D', name: 'n', payload: {} }, 'unknown field "deviceId"; did you mean device_id?'],
  [message, { ...aMessage, Wake: true }, 'unknown field "Wake"; did you mean wake?'],
  [
    message,
    { ...aMessage, custom_data: '0x12ab' },
    'custom_data cannot be set in this request; its fields are device_id, name, payload, wake, wait',
  ],
  [batch, { device_id: ['D'] }, 'unknown field "device_id"; did you mean device_ids?'],
  [batch, { device_ids: ['D'], wait: 5 }, 'wait cannot be set in this request; its fields are device_ids'],
  [callEnd, { device_id: 'D', session: 's', reasons: 'x' }, 'unknown field "reasons"; did you mean reason?'],
  [additions, { device: [{}] }, 'unknown field "device"; did you mean devices?'],
  [additions, { devices: [{}], labels: {} }, 'labels cannot be set in this request; its fields are devices'],
  [modification, { device_id: 'D', expire_at: 1 }, 'unknown field "expire_at"; did you mean expires_at?'],
  [
    modification,
    { device_id: 'D', product_id: 'P' },
    'product_id cannot be set in this request; its fields are device_id, secret, expires_at, disabled, labels',
  ],
];
for (const [decode, fields, error] of mistakenFields)
  test(`a body of ${JSON.stringify(fields)} is refused with the intended field`, () => {
    assert.deepEqual(decode(fields), { ok: false, error });
  });

test('an entry with a mistaken field is refused, and the other entries are decoded', () => {
  const right = { device_id: 'A', product_id: 'P' };
  const decoded = decodeAdditions(
    Buffer.from(JSON.stringify({ devices: [{ ...right, expiresAt: 1 }, right] })),
    rules,
  );
  assert.ok(decoded.ok);
  const [mistaken, added] = decoded.value;
  const reason = 'unknown field "expiresAt"; did you mean expires_at?';
  assert.deepEqual(mistaken, { ok: false, deviceId: 'A', reason });
  assert.equal(added?.ok, true);
});

const mistakenKeys: readonly (readonly [decode: Decode<string>, query: string, error: string])[] = [
  [decodeEventsQuery, 'limti=5', 'query: unknown key "limti"; did you mean limit?'],
  [decodeEventsQuery, 'after=latest&Wait=5', 'query: unknown key "Wait"; did you mean wait?'],
  [
    decodeEventsQuery,
    'device_id=D',
    'query: device_id cannot be set in this request; its keys are after, limit, wait',
  ],
  [decodeDeviceListing, 'prefx=D', 'query: unknown key "prefx"; did you mean prefix?'],
  [
    decodeDeviceListing,
    'disabled=true',
    'query: disabled cannot be set in this request; its keys are product_id, prefix, online, after, limit',
  ],
  [
    decodeWakeupOutcomeQuery,
    'request_id=r&devices_id=D',
    'query: unknown key "devices_id"; did you mean device_id?',
  ],
  [
    removal,
    'device_id=D&product_id=P',
    'query: product_id cannot be set in this request; its keys are device_id',
  ],
];
for (const [decode, query, error] of mistakenKeys)
  test(`a query of ${query} is refused with the intended key`, () => {
    assert.deepEqual(decode(query), { ok: false, error });
  });

test('a name that may belong to another program is ignored', () => {
  const others = { trace: 1, colour: 'red', '': 0, devise_ip: 'x', constructor: 1 };
  assert.ok(message({ ...aMessage, ...others }).ok);
  assert.ok(batch({ device_ids: ['D'], ...others }).ok);
  assert.ok(callEnd({ device_id: 'D', session: 's', ...others }).ok);
  assert.ok(additions({ devices: [{ device_id: 'D', product_id: 'P', ...others }], ...others }).ok);
  assert.ok(modification({ device_id: 'D', ...others }).ok);
  for (const decode of [decodeEventsQuery, decodeDeviceListing]) assert.ok(decode('_=17&colour=red').ok);
  assert.ok(decodeWakeupOutcomeQuery('request_id=r&_=17').ok);
  assert.ok(removal('device_id=D&_=17').ok);
});

test('keys inside a payload and inside labels are the caller’s own', () => {
  assert.ok(message({ ...aMessage, payload: { devise_id: 1, wate: 2 } }).ok);
  assert.ok(modification({ device_id: 'D', labels: { product_id: 'x', expire_at: 'x' } }).ok);
});

test('the four requests of the source ignore a name that resembles one of theirs', () => {
  assert.ok(body(decodeWakeupBody)({ device_id: 'D', custom_date: 1, product_id: 'P' }).ok);
  assert.ok(decodeDeviceQuery('device_id=D&devices_id=E&limit=5').ok);
  const call = { device_id: 'D', no_vide: true };
  assert.deepEqual(body((bytes) => readCallBody(bytes, 'allow'))(call), {
    ok: true,
    value: {
      body: { device_id: 'D' },
      alone: { ok: false, error: { field: 'msg_session_key', rule: 'is missing' } },
    },
  });
});
