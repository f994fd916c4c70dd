/** Operators with names and roles at a whole server: rights of viewers, revoked tokens, and records of changes. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { OpsClient } from '../../src/cli/admin/ops-client.ts';
import { linesInFile } from '../support/audit-scene.ts';
import { metric, metricsOf, opsOf } from '../support/driven-server.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

let server: TestServer;
let local: OpsClient;

before(async () => {
  server = await startTestServer();
  local = opsOf(server);
});
after(() => server.stop());

const noQuery = new URLSearchParams();

interface Listing {
  readonly tokens: readonly { readonly name: string; readonly last_used_at: number | null }[];
}

async function clientOf(name: string, role: 'viewer' | 'operator'): Promise<OpsClient> {
  const { token } = await local.change<{ token: string }>('/v1/ops-tokens/create', { name, role });
  return new OpsClient(`http://127.0.0.1:${server.ports.ops}`, token);
}

test('a viewer may read everything, but change nothing and watch no call', async () => {
  const viewer = await clientOf('viola', 'viewer');
  for (const path of ['calls', 'events', 'webhook/list', 'token-keys', 'ops-tokens', 'cluster'])
    await viewer.ask(`/v1/${path}`, noQuery);
  await viewer.ask('/v1/device/status', new URLSearchParams({ device_id: 'TESTDEVICE01' }));
  const before = linesInFile(server.dataDirectory).length;
  const changes: readonly (readonly [path: string, body: object])[] = [
    ['device/disable', { device_id: 'TESTDEVICE01' }],
    ['calls/ticket', { session: 'x' }],
    ['calls/watch', { session: 'x' }],
    ['ops-tokens/create', { name: 'mallory', role: 'operator' }],
  ];
  for (const [path, body] of changes)
    await assert.rejects(viewer.change(`/v1/${path}`, body), /viola is a viewer and may not make changes/);
  const file = join(server.dataDirectory, 'registry.json');
  await assert.rejects(
    viewer.importFile(file, { replace: true, dryRun: false, deletions: 'any' }),
    /is a viewer/,
  );
  assert.equal(linesInFile(server.dataDirectory).length, before, 'a viewer cannot fill the audit log');
  const refused = server.log.lines.find(({ message }) => message.startsWith('ops: change refused'));
  assert.deepEqual(refused?.fields, {
    operator: 'viola',
    from: '127.0.0.1',
    path: '/v1/device/disable',
  });
});

test('only the token in ops.token opens a backup and an export', async () => {
  const operator = await clientOf('olga', 'operator');
  for (const path of ['/v1/backup', '/v1/registry/export'])
    await assert.rejects(operator.open(path), /use the token in ops\.token/);
  const query = new URLSearchParams({ form: 'xml', with_secrets: 'true' });
  await assert.rejects(local.open('/v1/registry/export', query), /^CommandError: form: /);
});

test("changes are recorded under the operator's name, and the last use is listed", async () => {
  const operator = await clientOf('otto', 'operator');
  const startS = Math.floor(Date.now() / 1000);
  await operator.change('/v1/device/disable', { device_id: 'SLEEPING02' });
  const line = linesInFile(server.dataDirectory).at(-1);
  assert.deepEqual([line?.operator, line?.role, line?.action], ['otto', 'operator', 'device.disable']);
  const { tokens } = await local.ask<Listing>('/v1/ops-tokens', noQuery);
  const listed = tokens.find(({ name }) => name === 'otto');
  assert.ok((listed?.last_used_at ?? 0) >= startS);
});

test('a revoked token opens nothing, not even for a pending long poll', async () => {
  const waiter = await clientOf('wanda', 'viewer');
  const head = await waiter.ask<{ next: number }>('/v1/events', new URLSearchParams({ last: '0' }));
  const query = new URLSearchParams({ after: String(head.next), wait: '20' });
  const waiting = assert.rejects(waiter.ask('/v1/events', query), /the token was revoked meanwhile/);
  await local.change('/v1/ops-tokens/revoke', { name: 'wanda' });
  await assert.rejects(waiter.ask('/v1/events', noQuery), /bearer token .* is required/);
  const module = await server.module('SLEEPING01');
  await module.close();
  await waiting;
});

test('the file has only hashes of tokens, which are valid after a restart', async () => {
  const { token } = await local.change<{ token: string }>('/v1/ops-tokens/create', {
    name: 'kept',
    role: 'viewer',
  });
  await server.halt();
  const path = join(server.dataDirectory, 'ops-tokens.json');
  assert.ok(existsSync(path));
  assert.equal(readFileSync(path, 'utf8').includes(token), false);
  server = await startTestServer({ dataDirectory: server.dataDirectory });
  const client = new OpsClient(`http://127.0.0.1:${server.ports.ops}`, token);
  const { tokens } = await client.ask<Listing>('/v1/ops-tokens', noQuery);
  assert.ok(tokens.some(({ name, last_used_at: at }) => name === 'otto' && at !== null));
});

test('wrong tokens and tickets are counted, and logged once a minute without their values', async () => {
  const origin = `http://127.0.0.1:${server.ports.ops}`;
  const wrong = 'a-token-that-somebody-has-guessed';
  const statuses: number[] = [];
  const ask = async (path: string, init: RequestInit = {}): Promise<void> => {
    statuses.push((await fetch(origin + path, init)).status);
  };
  const refused = (): object[] =>
    server.log.lines
      .filter(({ message }) => message.startsWith('wrong credential'))
      .map(({ fields }) => fields);
  const countOf = async (credential: string): Promise<number | null> =>
    metric(await metricsOf(server), `reveille_ops_auth_failures_total{credential="${credential}"}`);
  const [token, lines] = [(await countOf('token')) ?? 0, refused().length];
  await ask('/v1/events');
  assert.deepEqual(
    [await countOf('token'), refused().length],
    [token, lines],
    'no credential is no wrong one',
  );
  for (let count = 0; count < 5; count += 1)
    await ask('/v1/events', { headers: { Authorization: `Bearer ${wrong}` } });
  const body = JSON.stringify({ token: wrong });
  const asJson = { method: 'POST', headers: { 'Content-Type': 'application/json' } };
  await ask('/console/login', { ...asJson, body });
  const ticket = JSON.stringify({ ticket: wrong });
  await ask('/watch/open', { ...asJson, body: ticket });
  assert.deepEqual(statuses, Array(8).fill(401));
  assert.deepEqual(
    [await countOf('token'), await countOf('login'), await countOf('ticket')],
    [token + 5, 1, 1],
  );
  assert.deepEqual(refused(), [{ credential: 'token', from: '127.0.0.1', refused: 1 }]);
  assert.ok(!JSON.stringify(server.log.lines).includes(wrong));
});
