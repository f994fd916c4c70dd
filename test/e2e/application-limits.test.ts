/** Rate limits of an application by kind of request, over real HTTP. Source: issue 14. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ApiAnswer, ApiCall } from '../support/api-client.ts';
import { callBody, callEnd, callStatus, issuance } from '../support/call-actions.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

let server: TestServer;
before(async () => {
  const kinds = ['queries', 'issuances', 'messages', 'event_reads', 'provisionings'];
  // A burst of one, and the next after 100 s.
  server = await startTestServer({ overrides: kinds.map((kind) => `limits.${kind}_per_second=0.01`) });
});
after(() => server.stop());

const device = 'TESTDEVICE01';
const connectivity: ApiCall = { query: `device_id=${device}` };
const status: ApiCall = { ...callStatus, query: `device_id=${device}` };
const outcome: ApiCall = { path: '/v1/device/wakeup-request', query: 'request_id=x' };
const events: ApiCall = { path: '/v1/events' };
const issue: ApiCall = { ...issuance, body: JSON.stringify(callBody()) };
const end: ApiCall = { ...callEnd, body: JSON.stringify({ device_id: device, session: 'x' }) };
const send: ApiCall = {
  method: 'POST',
  path: '/v1/device/message',
  body: JSON.stringify({ device_id: device, name: 'ping', payload: {} }),
};

const listing: ApiCall = { path: '/v1/devices' };
const change: ApiCall = { ...listing, method: 'PATCH', body: '{"device_id":"TESTDEVICE01"}' };
const removal: ApiCall = { ...listing, method: 'DELETE', query: 'device_id=NOBODY' };

function isLimited({ status: httpStatus, json, headers }: ApiAnswer, answeredWith: number): void {
  assert.deepEqual([httpStatus, json.code], [answeredWith, 42901]);
  const seconds = Number(headers['retry-after']);
  assert.ok(Number.isInteger(seconds) && seconds > 90 && seconds <= 100, `Retry-After ${seconds}`);
}

const kinds: readonly (readonly [name: string, calls: readonly ApiCall[], over: number])[] = [
  ['queries of three kinds', [connectivity, status, outcome], 200],
  ['issuances', [issue], 200],
  ['ends of calls', [end], 200],
  ['messages', [send], 429],
  ['reads of events', [events], 200],
  ['listings and changes of devices', [listing, change, removal], 429],
];
for (const [name, calls, over] of kinds)
  test(`${name} share one limit, and another application is not affected`, async () => {
    const [first = {}] = calls;
    // Requests refused earlier are not counted; those with invalid parameters are.
    const forged = { ...server.credentials.all, secretKey: 'wrong' };
    assert.equal((await server.api.call({ ...first, credential: forged })).status, 401);
    const waker = await server.api.call({ ...first, credential: server.credentials.waker });
    assert.equal(waker.json.code, 40301);
    assert.notEqual((await server.api.call(first)).json.code, 42901);
    for (const call of calls) isLimited(await server.api.call(call), call === outcome ? 429 : over);
    isLimited(await server.api.call(first.method === 'POST' ? { ...first, body: '{}' } : first), over);
    const others = await server.api.call({ ...first, credential: server.credentials.other });
    assert.notEqual(others.json.code, 42901);
  });

test('wakeups have their own limits', async () => {
  assert.equal((await server.api.wake({ device_id: device })).json.code, 40412);
});
