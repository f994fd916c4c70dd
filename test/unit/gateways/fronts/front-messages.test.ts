/** Parameters of every route reach the core unchanged. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestId } from '../../../../src/model/ids.ts';
import { apiRoutes } from '../../../../src/gateways/api/routes.ts';
import type { ParseRules, RequestIdentity, UnreadCall } from '../../../../src/gateways/api/route.ts';
import { encodeCursor } from '../../../support/event-cursors.ts';
import { callBody, callBodyFields } from '../../../support/call-bodies.ts';

const rules: ParseRules = { mixedFormats: 'allow', secretRules: { allowShortSecrets: true } };
/** JSON with multi-byte letters, a control character and a name that is special to objects. */
const oddText = '\\u00e9 \\ud83d\\ude00 \\u0001 __proto__';

const ofQuery = (query: string): Partial<UnreadCall> => ({ query });
const ofBody = (body: string | Buffer): Partial<UnreadCall> => ({ body: Buffer.from(body) });
const ofJson = (body: object): Partial<UnreadCall> => ofBody(JSON.stringify(body));

/** By the name of the route; some are refused. */
const requests: Readonly<Record<(typeof apiRoutes)[number]['name'], readonly Partial<UnreadCall>[]>> = {
  connectivity: [ofQuery('device_id=TESTDEVICE01'), ofQuery('device_id=a%20b%20c%2B'), ofQuery('')],
  'connectivity-batch': [
    ofJson({ device_ids: ['TESTDEVICE01', 'a b c+', 'TESTDEVICE01'] }),
    ofJson({ device_ids: Array.from({ length: 500 }, (_, i) => `D${i}`) }),
    ofBody('{'),
  ],
  wakeup: [
    ofJson({ device_id: 'TESTDEVICE01' }),
    ofJson({ device_id: 'TESTDEVICE01', custom_data: '0xBEEF' }),
    ofJson({ device_id: 'TESTDEVICE01', custom_data: 1 }),
    { ...ofJson({ device_id: 'TESTDEVICE01' }), requestId: { id: 'r' as RequestId, origin: 'invalid' } },
  ],
  'wakeup-outcome': [
    ofQuery('device_id=TESTDEVICE01&request_id=ring-1&wait=20'),
    ofQuery('device_id=TESTDEVICE01&request_id=ring-1'),
    ofQuery('device_id=TESTDEVICE01'),
  ],
  message: [
    ofJson({ device_id: 'TESTDEVICE01', name: 'n', payload: { a: [1, null, 1.5, true, { b: 'c' }] } }),
    ofJson({ device_id: 'TESTDEVICE01', name: 'n', payload: {}, wake: true, wait: 20 }),
    ofBody(
      `{"device_id":"TESTDEVICE01","name":"n","payload":{"__proto__":{"a":1},"b":"${oddText}","c":12345678901234567890}}`,
    ),
    ofBody(`{"device_id":"TESTDEVICE01","name":"${oddText}","payload":{}}`),
    ofBody('[]'),
  ],
  events: [
    ofQuery(''),
    ofQuery('after=latest&wait=30&limit=7'),
    ofQuery(`after=${encodeCursor(2 ** 40)}`),
    ofQuery('limit=-1'),
  ],
  'call-status': [ofQuery('device_id=TESTDEVICE01'), ofQuery('device_id=')],
  'call-end': [
    ofJson({ device_id: 'TESTDEVICE01', session: '01a2b3c4-0000-7000-8000-000000000005' }),
    ofJson({ device_id: 'TESTDEVICE01', msg_room_id: 'room1', reason: 'rejected' }),
    ofJson({ device_id: 'TESTDEVICE01', msg_room_id: null, reason: '' }),
    ofBody(`{"device_id":"TESTDEVICE01","msg_room_id":"${oddText}","reason":"rejected"}`),
    ofBody('null'),
  ],
  'call-credentials': [
    ofBody(callBody()),
    ofBody(callBody({ device_id: '"TESTDEVICE01"', calling_timeout_sec: '30', no_video: 'true' })),
    ofBody(callBody({ msg_payload: `"${oddText}"`, msg_room_id: `"${oddText}"` })),
    ...callBodyFields.map((field) => ofBody(callBody({ [field]: undefined }))),
    ...callBodyFields.map((field) => ofBody(callBody({ [field]: 'null' }))),
    ofBody('[]'),
  ],
  'devices-list': [
    ofQuery(''),
    ofQuery('product_id=doorbell&prefix=DOOR-&disabled=true&limit=500'),
    ofQuery('limit=x'),
  ],
  'devices-add': [
    ofJson({
      devices: [
        { device_id: 'DOOR-1', product_id: 'doorbell' },
        {
          device_id: 'DOOR-2',
          product_id: 'doorbell',
          secret: '0123456789abcdef0123456789abcdef',
          expires_at: 1_924_992_000,
          disabled: false,
          labels: { floor: '2', constructor: 'x' },
        },
        { device_id: '' },
      ],
    }),
    ofBody(
      `{"devices":[{"device_id":"DOOR-1","product_id":"doorbell","labels":{"__proto__":"a","b":"${oddText}"}}]}`,
    ),
    ofJson({ devices: {} }),
  ],
  'device-change': [
    ofJson({ device_id: 'DOOR-1', secret: true }),
    ofJson({ device_id: 'DOOR-1', labels: { floor: '3', room: null } }),
    ofJson({ device_id: 'DOOR-1', expires_at: null, disabled: true }),
    ofBody(`{"device_id":"DOOR-1","labels":{"__proto__":null,"b":"${oddText}"}}`),
    ofJson({ device_id: 'DOOR-1', disabled: 'no' }),
  ],
  'device-remove': [ofQuery('device_id=DOOR-1'), ofQuery('id=DOOR-1')],
};

/** The deepest nesting that fits in a body: it would overflow the stack of a thread that posts it. */
const deep = `${'['.repeat(30_000)}${']'.repeat(30_000)}`;

const requestId: RequestIdentity = { id: 'ring-1' as RequestId, origin: 'caller' };

for (const route of apiRoutes)
  test(`the parameters of ${route.name}, and refusals of them, reach the core unchanged`, () => {
    const results = requests[route.name].map((request) =>
      route.parse({ query: '', body: Buffer.alloc(0), requestId, ...request }, rules),
    );
    assert.ok(results.some(({ ok }) => ok));
    assert.ok(results.some(({ ok }) => !ok));
    const crossed = structuredClone(results);
    assert.deepStrictEqual(crossed, results);
  });

for (const route of apiRoutes.filter(({ method }) => method !== 'GET' && method !== 'DELETE'))
  test(`a body of ${route.name} with endless nesting reaches the core, or is refused`, () => {
    for (const field of [
      'unlisted',
      'device_id',
      'device_ids',
      'payload',
      'msg_payload',
      'devices',
      'labels',
    ]) {
      const result = route.parse(
        { query: '', body: Buffer.from(`{"device_id":"D","name":"n","${field}":${deep}}`), requestId },
        rules,
      );
      assert.deepStrictEqual(structuredClone(result), result);
    }
  });
