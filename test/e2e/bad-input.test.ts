/** Bad input, against the real server over real sockets. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import type { ApiCall } from '../support/api-client.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

const device = 'TESTDEVICE01';
const wakeBody = JSON.stringify({ device_id: device });

test('a connectivity query of an unseen device answers nulls instead of an error', async () => {
  const answer = await server.api.connectivity(device);
  assert.equal(answer.status, 200);
  assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8');
  assert.match(String(answer.headers['x-tg-request-id']), /^[0-9a-f-]{36}$/);
  assert.ok(answer.headers.date !== undefined);
  const never = { last_login_at: null, last_heartbeat_at: null, last_offline_at: null };
  assert.deepEqual(answer.json, {
    code: 0,
    message: 'success',
    data: { device_id: device, signal: { is_online: false, ...never }, sleep: never },
  });
});

const oneLabel = (key: string, value: unknown = ''): string =>
  JSON.stringify({ device_id: device, labels: { [key]: value } });
const changeRules: { name: string; body: string; code: number }[] = [
  { name: 'nothing to change', body: `{"device_id":"${device}"}`, code: 0 },
  { name: 'an unknown field', body: `{"device_id":"${device}","colour":"red"}`, code: 0 },
  {
    name: 'a field that is set when a device is added',
    body: `{"device_id":"${device}","product_id":"foreign"}`,
    code: 40003,
  },
  { name: 'an expired device', body: '{"device_id":"EXPIRED01"}', code: 0 },
  { name: 'a disabled device', body: '{"device_id":"DISABLED01"}', code: 0 },
  { name: 'an unknown device', body: '{"device_id":"NOBODY"}', code: 40403 },
  { name: "another application's device", body: '{"device_id":"FOREIGN01"}', code: 40302 },
  ...['', '{', '[]', '{}', '{"device_id":1}'].map((body) => ({
    name: `a body of ${body}`,
    body,
    code: 40003,
  })),
  ...['null', 'false', '1', '""', '"fifteen letters"', `"${'x'.repeat(1025)}"`].map((secret) => ({
    name: `a secret of ${secret.slice(0, 20)}`,
    body: `{"device_id":"${device}","secret":${secret}}`,
    code: 40003,
  })),
  ...['-1', '1.5', '"1"', 'true', '9007199254740992'].map((expiry) => ({
    name: `an expiry of ${expiry}`,
    body: `{"device_id":"${device}","expires_at":${expiry}}`,
    code: 40003,
  })),
  { name: 'disabled as a text', body: `{"device_id":"${device}","disabled":"true"}`, code: 40003 },
  ...['null', '[]', '"x"'].map((labels) => ({
    name: `labels of ${labels}`,
    body: `{"device_id":"${device}","labels":${labels}}`,
    code: 40003,
  })),
  ...['', 'A', 'a b', 'x'.repeat(65), '__proto__'].map((key) => ({
    name: `a label called ${key.slice(0, 12)}`,
    body: `{"device_id":"${device}","labels":{${JSON.stringify(key)}:""}}`,
    code: 40003,
  })),
  { name: 'a label that is a number', body: oneLabel('a', 1), code: 40003 },
  { name: 'a label of 257 bytes', body: oneLabel('a', 'x'.repeat(257)), code: 40003 },
  { name: 'a label of 256 bytes', body: oneLabel(`${'a'.repeat(61)}_.-`, 'x'.repeat(256)), code: 0 },
];
for (const { name, body, code } of changeRules)
  test(`a change of a device with ${name} is ${code}`, async () => {
    const answer = await server.api.call({ method: 'PATCH', path: '/v1/devices', body });
    assert.equal(answer.json.code, code, answer.text);
    assert.equal(answer.status, code === 0 ? 200 : Math.floor(code / 100));
  });

const listingRules: { query: string; code: number }[] = [
  { query: '', code: 0 },
  { query: 'limit=500&x=1&online=false', code: 0 },
  { query: `prefix=${'L'.repeat(255)}`, code: 0 },
  { query: `prefix=${'L'.repeat(256)}`, code: 40003 },
  { query: 'limit=0', code: 40003 },
  { query: 'limit=501', code: 40003 },
  { query: 'limit=1&limit=1', code: 40003 },
  { query: 'online=1', code: 40003 },
  { query: 'product_id=', code: 40003 },
  { query: 'product_id=a%0Ab', code: 40003 },
  { query: 'after=', code: 40003 },
  { query: 'after=AAAA', code: 40003 },
  { query: 'after=Af8', code: 40003 },
  { query: 'prefix=%ff', code: 40003 },
  { query: 'product_id=none', code: 40302 },
];
for (const { query, code } of listingRules)
  test(`a listing of devices with ${query.slice(0, 40) || 'no query'} is ${code}`, async () => {
    const answer = await server.api.call({ path: '/v1/devices', query });
    assert.equal(answer.json.code, code, answer.text);
  });

test('an addition accepts 1 to 500 entries', async () => {
  const entries = (count: number): string =>
    JSON.stringify({ devices: Array.from({ length: count }, () => 0) });
  for (const [body, code] of [
    [entries(0), 40003],
    [entries(1), 0],
    [entries(500), 0],
    [entries(501), 40003],
    ['{"devices":{}}', 40003],
    ['{}', 40003],
  ] as const)
    assert.equal((await server.api.call({ method: 'POST', path: '/v1/devices', body })).json.code, code);
});

const requestIds: { name: string; value: string | string[]; taken: boolean }[] = [
  { name: 'one character', value: 'x', taken: true },
  { name: '128 printable characters', value: `${'~'.repeat(127)}!`, taken: true },
  { name: 'spaces inside', value: 'a b', taken: true },
  { name: 'spaces around it, which HTTP trims', value: '  spaced  ', taken: true },
  { name: '129 characters', value: 'x'.repeat(129), taken: false },
  { name: 'nothing in it', value: '', taken: false },
  { name: 'a letter beyond ASCII', value: 'caf\u00e9s', taken: false },
  { name: 'a tab inside', value: 'a\tb', taken: false },
  { name: 'a second one beside it', value: ['a', 'b'], taken: false },
];
for (const { name, value, taken } of requestIds) {
  test(`an X-Request-ID with ${name} is ${taken ? 'kept' : '40003 under a new id'}`, async () => {
    const answer = await server.api.wake({ device_id: device }, { spoil: { 'X-Request-ID': value } });
    assert.equal(answer.json.code, taken ? 40412 : 40003, answer.text);
    assert.equal(answer.json['request_id'], answer.headers['x-tg-request-id']);
    if (taken) assert.equal(answer.json['request_id'], String(value).trim());
    else assert.match(String(answer.json['request_id']), /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  });
}

test('an invalid X-Request-ID is reported after the checks of signature and permission', async () => {
  const spoil = { 'X-Request-ID': '', 'X-Tg-Date': 'x' };
  assert.equal((await server.api.wake({ device_id: device }, { spoil })).json.code, 40105);
  const reader = server.credentials.reader;
  const forbidden = await server.api.wake(
    { device_id: device },
    { credential: reader, spoil: { 'X-Request-ID': '' } },
  );
  assert.equal(forbidden.json.code, 40301);
});

test('a credential without the permission is 40301 before its parameters are checked', async () => {
  const query = await server.api.call({ query: 'device_id=', credential: server.credentials.waker });
  assert.deepEqual([query.status, query.json.code], [200, 40301]);
  const wake = await server.api.wake({}, { credential: server.credentials.reader, body: '{' });
  assert.deepEqual([wake.status, wake.json.code], [403, 40301]);
});

const transport: { name: string; call: ApiCall; status: number; code: number; allow?: string }[] = [
  { name: 'an unknown path', call: { path: '/v1/nothing' }, status: 404, code: 40400 },
  { name: 'the root', call: { path: '/' }, status: 404, code: 40400 },
  { name: 'a path in another case', call: { path: '/V1/device/connectivity' }, status: 404, code: 40400 },
  { name: 'two trailing slashes', call: { path: '/v1/device/connectivity//' }, status: 404, code: 40400 },
  {
    name: 'an unknown path with another method',
    call: { method: 'PUT', path: '/x' },
    status: 404,
    code: 40400,
  },
  {
    name: 'a DELETE of the wakeup',
    call: { method: 'DELETE', path: '/v1/device/wakeup-request' },
    status: 405,
    code: 40500,
    allow: 'POST, GET',
  },
  {
    name: 'a body over 64 KiB with a wrong signature',
    call: {
      method: 'POST',
      path: '/v1/device/wakeup-request',
      body: 'x'.repeat(65_537),
      spoil: { Authorization: 'x' },
    },
    status: 413,
    code: 41300,
  },
  {
    name: 'a wrong signature and a body of another type',
    call: {
      method: 'POST',
      path: '/v1/device/wakeup-request',
      body: wakeBody,
      contentType: 'text/plain',
      sentBody: '{}',
    },
    status: 401,
    code: 40105,
  },
];
for (const { name, call, status, code, allow } of transport) {
  test(`${name} is ${status} with code ${code}`, async () => {
    const answer = await server.api.call(call);
    assert.deepEqual([answer.status, answer.json.code], [status, code], answer.text);
    assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8');
    assert.ok(answer.headers['x-tg-request-id'] !== undefined);
    assert.equal(answer.headers.allow, allow);
    const isWakeup = call.path === '/v1/device/wakeup-request';
    assert.equal(answer.json['request_id'], isWakeup ? answer.headers['x-tg-request-id'] : undefined);
  });
}

const framing: { name: string; lines: string; status: number; code: number }[] = [
  { name: 'a body in chunks', lines: 'Transfer-Encoding: chunked', status: 411, code: 41100 },
  { name: 'another Transfer-Encoding', lines: 'Transfer-Encoding: gzip', status: 411, code: 41100 },
  { name: 'an empty Transfer-Encoding', lines: 'Transfer-Encoding:', status: 411, code: 41100 },
  {
    name: 'two lengths',
    lines: 'Content-Length: 5\r\nContent-Length: 6',
    status: 400,
    code: 40000,
  },
  {
    name: 'the same length twice',
    lines: 'Content-Length: 5\r\nContent-Length: 5',
    status: 400,
    code: 40000,
  },
  { name: 'an empty length', lines: 'Content-Length:', status: 400, code: 40000 },
];
for (const path of ['/v1/device/wakeup-request', '/nothing'])
  for (const { name, lines, status, code } of framing)
    test(`${name} at ${path} is ${status} with code ${code}, and the connection ends`, async () => {
      const peer = await RawPeer.connect(server.ports.api);
      peer.send(`POST ${path} HTTP/1.1\r\nHost: x\r\n${lines}\r\n\r\n`);
      const [head = '', body = ''] = (await peer.readAll()).split('\r\n\r\n');
      assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `));
      assert.match(head, /^connection: close$/im);
      assert.equal((JSON.parse(body) as { code: number }).code, code);
    });

test('a Transfer-Encoding together with a length is refused by the HTTP library, and the connection ends', async () => {
  const peer = await RawPeer.connect(server.ports.api);
  const lines = 'Content-Length: 5\r\nTransfer-Encoding: chunked';
  peer.send(`POST /v1/device/wakeup-request HTTP/1.1\r\nHost: x\r\n${lines}\r\n\r\n0\r\n\r\n`);
  assert.match(await peer.readAll(), /^HTTP\/1\.1 400 /);
});

for (const length of ['0x5', '+5', '-5', '5 5', '5,5', '1e1'])
  test(`a Content-Length of ${length} gets a 400, and the connection ends`, async () => {
    const peer = await RawPeer.connect(server.ports.api);
    peer.send(`POST /v1/device/wakeup-request HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n{}`);
    assert.match(await peer.readAll(), /^(?:HTTP\/1\.1 400 |$)/);
  });

test('bytes after a request with an ambiguous end are not read as another request', async () => {
  const seen = server.log.lines.length;
  const peer = await RawPeer.connect(server.ports.api);
  const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';
  peer.send(`POST /nothing HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`);
  assert.doesNotMatch(await peer.readAll(), /40400/);
  assert.equal(server.log.lines.length, seen);
});

test('a connection ends with the answer to a request without a valid signature', async () => {
  for (const request of ['GET /nothing', 'GET /v1/device/connectivity', 'DELETE /v1/device/wakeup-request']) {
    const peer = await RawPeer.connect(server.ports.api);
    peer.send(`${request} HTTP/1.1\r\nHost: x\r\n\r\n`);
    assert.match(await peer.readAll(), /^connection: close$/im, request);
  }
});

test('a pipelined request ends the connection', async () => {
  const peer = await RawPeer.connect(server.ports.api);
  peer.send('GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(3));
  assert.equal(await peer.readAll(), '');
});

test('no answer names the HTTP library', async () => {
  const { headers } = await server.api.connectivity(device);
  assert.equal(headers['uwebsockets'], undefined);
  assert.equal(headers.server, undefined);
});

test('a body of exactly 64 KiB is read', async () => {
  const padding = ' '.repeat(65_536 - wakeBody.length);
  const answer = await server.api.wake({}, { body: wakeBody + padding });
  assert.equal(answer.json.code, 40412);
});

test('a trailing slash leads to the same route, signed with or without it', async () => {
  const path = '/v1/device/connectivity/';
  assert.equal((await server.api.connectivity(device, { path })).json.code, 0);
  assert.equal((await server.api.connectivity(device, { sentPath: path })).json.code, 0);
});

test('a GET whose body is signed is answered; one whose body is not is a hash mismatch', async () => {
  assert.equal((await server.api.connectivity(device, { body: 'hello' })).json.code, 0);
  const unsigned = await server.api.connectivity(device, { sentBody: 'hello' });
  assert.deepEqual([unsigned.status, unsigned.json['message']], [401, 'body hash mismatch']);
});

test('a wakeup request without headers gets an answer in the envelope', async () => {
  const answer = await server.api.send('POST', '/v1/device/wakeup-request', {}, null);
  assert.deepEqual([answer.status, answer.json.code], [401, 40105]);
  assert.equal(answer.json['message'], 'missing header X-Tg-Algorithm');
  assert.equal(answer.json['request_id'], answer.headers['x-tg-request-id']);
});

test('a backend that disconnects in the middle of a body affects no other', async () => {
  const socket = connect(server.ports.api, '127.0.0.1');
  socket.write('POST /v1/device/wakeup-request HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"dev');
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.resetAndDestroy();
  assert.equal((await server.api.connectivity(device)).json.code, 0);
});
