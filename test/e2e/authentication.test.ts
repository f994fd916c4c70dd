/** Every authentication failure with its stable message, in the order of the table, on both endpoints. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestServer, type TestServer } from '../support/test-server.ts';

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

const device = 'TESTDEVICE01';

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
