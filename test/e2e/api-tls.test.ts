/** The API over TLS, and a reload of its certificate. Source: running.md, Settings; issue 14. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { ReveilleClient } from '../../src/client/reveille-client.ts';
import { ApiClient } from '../support/api-client.ts';
import { runCli } from '../support/cli-process.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { startTestSite } from '../support/test-site.ts';
import { certificateShown, noOpenssl, TestCertificate } from '../support/test-certificate.ts';
import { startTestServer, testCredentials, type TestServer } from '../support/test-server.ts';

const skip = noOpenssl;

const certificate = new TestCertificate(temporaryDirectory({ after }));
let running: TestServer;
const clients: { close(): void }[] = [];

before(async () => {
  if (skip) return;
  certificate.use('first');
  running = await startTestServer({ overrides: certificate.overrides('api') });
});
after(async () => {
  if (!skip) await running.stop();
});

beforeEach(async () => {
  if (skip) return;
  certificate.use('first');
  await running.server.reload();
});

afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

/** A client that trusts only the certificate of this name. */
function client(trusted: string): ApiClient {
  const ca = certificate.certificateOf(trusted);
  const made = new ApiClient(running.ports.api, testCredentials.all, Date.now, { ca });
  clients.push(made);
  return made;
}

test('signed calls are answered over TLS, one after the other on one connection', { skip }, async () => {
  const api = client('first');
  const module = await running.module('SLEEPING01');
  assert.equal((await api.connectivity('SLEEPING01')).json.code, 0);
  assert.equal((await api.wake({ device_id: 'SLEEPING01' })).status, 202);
  await module.nextPacket();
  assert.equal(api.connectionsMade, 1);
});

test('the backend client calls an API whose certificate authority is configured', { skip }, async () => {
  const trusting = new ReveilleClient({
    origin: `https://127.0.0.1:${running.ports.api}`,
    credential: testCredentials.all,
    tls: { ca: certificate.certificateOf('first') },
  });
  clients.push(trusting);
  assert.equal((await trusting.connectivity('SLEEPING01')).ok, true);
});

test('a caller without TLS gets no answer', { skip }, async () => {
  const plain = new ApiClient(running.ports.api, testCredentials.all);
  clients.push(plain);
  await assert.rejects(plain.connectivity('SLEEPING01'));
});

test('new connections see the reloaded certificate, and older ones continue', { skip }, async () => {
  const older = client('first');
  assert.equal((await older.connectivity('SLEEPING01')).json.code, 0);
  certificate.use('second');
  await running.server.reload();
  assert.equal(await certificateShown(running.ports.api), 'second');
  assert.equal((await older.connectivity('SLEEPING01')).json.code, 0);
  assert.equal(older.connectionsMade, 1);
  assert.equal((await client('second').connectivity('SLEEPING01')).json.code, 0);
});

test('the command line on the same machine accepts the certificate with any name', { skip }, async (t) => {
  certificate.use('api.example');
  const { directory: data } = await startTestSite(t, ...certificate.overrides('api'));
  const target = '/v1/device/connectivity?device_id=SLEEPING01';
  const called = await runCli(['call', 'GET', target, '--data-dir', data, '--json']);
  assert.equal(called.exitCode, 0, called.stderr);
  const { stdout: line } = await runCli(['sign', 'GET', target, '--data-dir', data, '--curl']);
  assert.match(line, /'https:\/\/127\.0\.0\.1:/);
  assert.match(execFileSync('sh', ['-c', line], { encoding: 'utf8' }), /"code":0/);
  certificate.use('other.example');
  const refused = await runCli(['call', 'GET', target, '--data-dir', data]);
  assert.equal(refused.exitCode, 1, 'a certificate that is not the one in the file');
});

test('a stop answers long polls on connections of both certificates, and closes them', { skip }, async () => {
  const older = client('first');
  await older.connectivity('SLEEPING01');
  certificate.use('second');
  await running.server.reload();
  const newer = client('second');
  const waits = [older, newer].map((api) => api.call({ path: '/v1/events', query: 'after=latest&wait=30' }));
  // Sent last: its answer shows that the earlier requests are pending.
  await newer.call({ path: '/v1/events', query: 'after=latest' });
  await running.server.stop();
  for (const { json, headers } of await Promise.all(waits)) {
    assert.equal(json.code, 0);
    assert.equal(headers.connection, 'close');
  }
});
