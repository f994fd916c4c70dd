/** Every authentication failure with its stable message, in the order of the table, on both endpoints. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ApiCall } from '../support/api-client.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

const device = 'TESTDEVICE01';
const names = [
  'X-Tg-Algorithm',
  'X-Tg-Date',
  'X-Tg-App-Id',
  'X-Tg-Content-Sha256',
  'X-Tg-Signed-Headers',
  'Authorization',
];

const failures: { name: string; call: () => ApiCall; message: string | RegExp }[] = [
  ...names.map((name) => ({
    name: `${name} left out`,
    call: () => ({ spoil: { [name]: null } }),
    message: `missing header ${name}`,
  })),
  {
    name: 'another algorithm',
    call: () => ({ spoil: { 'X-Tg-Algorithm': 'TGV2' } }),
    message: 'unsupported algorithm',
  },
  {
    name: 'another scheme',
    call: () => ({ spoil: { Authorization: 'Bearer x' } }),
    message: 'unsupported algorithm',
  },
  {
    name: 'an authorization that is cut',
    call: () => ({ spoil: { Authorization: 'TGV1-HMAC-SHA256 Credential=x' } }),
    message: 'malformed authorization',
  },
  {
    name: 'lists that differ',
    call: () => ({ spoil: { 'X-Tg-Signed-Headers': 'x-tg-app-id;x-tg-date' } }),
    message: 'malformed authorization',
  },
  {
    name: 'a repeated X-Tg-Date',
    call: () => ({ spoil: { 'X-Tg-Date': ['20261120T083000Z', '20261120T083000Z'] } }),
    message: 'malformed authorization',
  },
  {
    name: 'a date in another form',
    call: () => ({ spoil: { 'X-Tg-Date': '2026-11-20T08:30:00Z' } }),
    message: 'malformed X-Tg-Date',
  },
  {
    name: 'an unknown access key',
    call: () => ({ credential: { accessKeyId: 'AKnobody', secretKey: 'x', appId: '2818153' } }),
    message: 'unknown or revoked credential',
  },
  {
    name: 'a revoked access key',
    call: () => ({ credential: server.credentials.revoked }),
    message: 'unknown or revoked credential',
  },
  {
    name: 'an access key that is not valid any more',
    call: () => ({ credential: server.credentials.past }),
    message: 'unknown or revoked credential',
  },
  {
    name: 'an access key that is not valid yet',
    call: () => ({ credential: server.credentials.future }),
    message: 'unknown or revoked credential',
  },
  {
    name: "another application's id",
    call: () => ({ credential: { ...server.credentials.all, appId: '9999999' } }),
    message: 'application mismatch',
  },
  {
    name: 'a clock that is slow',
    call: () => ({ atMs: Date.now() - 310_000 }),
    message: /^request time outside the allowed window; server time \d{8}T\d{6}Z$/,
  },
  {
    name: 'a clock that is fast',
    call: () => ({ atMs: Date.now() + 310_000 }),
    message: /^request time outside the allowed window; server time \d{8}T\d{6}Z$/,
  },
  {
    name: 'a body hash that is not of this body',
    call: () => ({ spoil: { 'X-Tg-Content-Sha256': '0'.repeat(64) } }),
    message: 'body hash mismatch',
  },
  {
    name: 'a wrong secret',
    call: () => ({ credential: { ...server.credentials.all, secretKey: 'wrong' } }),
    message: 'signature mismatch',
  },
];
for (const { name, call, message } of failures) {
  test(`${name} is 401 with "${String(message)}"`, async () => {
    const connectivity = await server.api.connectivity(device, call());
    const wakeup = await server.api.wake({ device_id: device }, call());
    for (const answer of [connectivity, wakeup]) {
      assert.deepEqual([answer.status, answer.json.code], [401, 40105], answer.text);
      if (typeof message === 'string') assert.equal(answer.json['message'], message);
      else assert.match(String(answer.json['message']), message);
    }
    assert.equal(wakeup.json['request_id'], wakeup.headers['x-tg-request-id']);
    assert.equal('request_id' in connectivity.json, false);
  });
}

test('a signature mismatch of a known credential shows what the server computed, and no secret', async () => {
  const { all } = server.credentials;
  const answer = await server.api.connectivity(device, { credential: { ...all, secretKey: 'wrong' } });
  const data = answer.json.data as { canonical_request: string; string_to_sign: string };
  assert.match(data.canonical_request, /^GET\n\/v1\/device\/connectivity\ndevice_id=TESTDEVICE01\n/);
  assert.match(data.string_to_sign, /^TGV1-HMAC-SHA256\n\d{8}T\d{6}Z\n\d{8}\/tgv1_request\n[0-9a-f]{64}$/);
  assert.equal(answer.text.includes(all.secretKey), false);
});

test('other failures show nothing', async () => {
  const answer = await server.api.connectivity(device, { spoil: { Authorization: 'x' } });
  assert.equal('data' in answer.json, false);
});

test('two live credentials of one application both work, so that keys rotate without an outage', async () => {
  for (const credential of [server.credentials.all, server.credentials.second])
    assert.equal((await server.api.connectivity(device, { credential })).json.code, 0);
});
