/** The password and the query of a webhook's URL are secrets: they are in no answer, log line or file except an export with secrets. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { RegistryPage } from '../../src/gateways/admin/registry-lists.ts';
import type { WebhookJson } from '../../src/webhooks/delivery/webhook-admin.ts';
import { auditPath } from '../../src/storage/audit/audit-files.ts';
import { checkout } from '../support/checkout.ts';
import { runCli, type CliResult } from '../support/cli-process.ts';
import { metricsOf, opsOf } from '../support/driven-server.ts';
import { startTestServer } from '../support/test-server.ts';
import { receiverSecret, status, WebhookReceiver } from '../support/webhook-receiver.ts';

const app_id = '2818153';
const secret = 'hunter2';
const readPaths = Array.from(
  readFileSync(new URL('docs/ops-api.md', checkout), 'utf8').matchAll(/^\| `GET (\/v1\/[\w/-]+)/gm),
  ([, path = '']) => path,
);

test("the secrets of a webhook's URL are only in an export with secrets", async (t) => {
  const server = await startTestServer({ overrides: ['webhooks.allow_local=true'] });
  t.after(() => server.stop());
  const receiver = await WebhookReceiver.start(t);
  receiver.answer(status(410));
  const ops = opsOf(server);
  const origin = new URL(receiver.url).host;
  const [first = '', second = ''] = ['a', 'b'].map(
    (key) => `http://user:${secret}@${origin}/hook?key=${secret}${key}`,
  );
  const masked = `http://user:***@${origin}/hook?key=***`;
  const shown: string[] = [];
  const keep = <Value>(value: Value): Value => (shown.push(JSON.stringify(value)), value);
  const refusal = (path: string, body: object): Promise<void> =>
    assert.rejects(ops.change(path, body), (error: Error) => (shown.push(error.message), true));

  keep(await ops.change('/v1/webhook/add', { app_id, url: first, secret: receiverSecret }));
  keep(await ops.change('/v1/webhook/add', { app_id, url: second }));
  await refusal('/v1/webhook/add', { app_id, url: first });
  await refusal('/v1/application/remove', { app_id });
  await refusal('/v1/webhook/remove', { url: `${first}c` });
  await refusal('/v1/webhook/test', { url: masked });
  // The receiver gets the password, and the log the failure.
  const failed = keep(await ops.change<{ delivered: boolean }>('/v1/webhook/test', { url: first }));
  assert.equal(failed.delivered, false);
  assert.match(String(receiver.received[0]?.headers['authorization']), /^Basic /);
  await (await server.module('SLEEPING01')).close();
  const isLogged = (): boolean => JSON.stringify(server.log.lines).includes('webhook: switched off');
  while (!isLogged()) await ops.ask('/v1/webhook/list', new URLSearchParams());

  const { token } = await ops.change<{ token: string }>('/v1/ops-tokens/create', {
    name: 'v',
    role: 'viewer',
  });
  const ask = async (path: string, query: Readonly<Record<string, string>>): Promise<string> => {
    const url = `http://127.0.0.1:${server.ports.ops}${path}?${new URLSearchParams(query).toString()}`;
    const text = await (await fetch(url, { headers: { Authorization: `Bearer ${token}` } })).text();
    shown.push(text);
    return text;
  };
  assert.ok(readPaths.length > 10, readPaths.join());
  for (const path of readPaths) {
    await ask(path, {});
    await ask(path, { url: masked });
    await ask(path, { kind: 'webhook' });
    await ask(path, { kind: 'webhook', id: `${app_id} ${masked}` });
  }
  const listed = JSON.parse(await ask('/v1/webhook/list', {})) as { readonly webhooks: WebhookJson[] };
  assert.deepEqual(
    listed.webhooks.map(({ url }) => url),
    [masked, masked],
  );
  const pages: unknown[] = [];
  for (let after: string | null = '0'; after !== null;) {
    const text = await ask('/v1/registry/list', { kind: 'webhook', limit: '1', after });
    const page = JSON.parse(text) as RegistryPage;
    pages.push(...page.entries.map(({ url, types }) => [url, types]));
    after = page.next;
  }
  assert.equal(pages.length, 2, 'also of two that are shown alike');
  shown.push(JSON.stringify(server.log.lines), await metricsOf(server));
  shown.push(readFileSync(auditPath(server.dataDirectory), 'utf8'));

  const cli = async (...args: readonly string[]): Promise<CliResult> =>
    keep(await runCli([...args, '--data-dir', server.dataDirectory]));
  for (const args of [
    ['webhook', 'list'],
    ['registry', 'list', 'webhooks'],
    ['registry', 'export'],
    ['audit'],
  ])
    assert.equal((await cli(...args)).exitCode, 0, args.join(' '));
  assert.equal((await cli('webhook', 'show', masked)).exitCode, 1, 'two webhooks are shown so');
  const removed = await cli('webhook', 'remove', second);
  assert.equal(removed.exitCode, 0, removed.stderr);
  assert.equal((await cli('webhook', 'show', masked)).exitCode, 0, 'one is left');
  for (const text of shown) assert.ok(!text.includes(secret), text.slice(0, 2000));

  const file = join(server.dataDirectory, 'exported.json');
  const { stdout } = await runCli([
    'registry',
    'export',
    '--with-secrets',
    '--format',
    'json',
    '--data-dir',
    server.dataDirectory,
  ]);
  writeFileSync(file, stdout);
  const exported = JSON.parse(stdout) as { readonly webhooks: { url: string }[] };
  assert.deepEqual(
    exported.webhooks.map(({ url }) => url),
    [first],
  );
  const whole = await cli('registry', 'import', file, '--dry-run');
  assert.equal(whole.exitCode, 0, whole.stderr);
  writeFileSync(file, JSON.stringify({ ...exported, webhooks: [{ ...exported.webhooks[0], url: masked }] }));
  const refused = await cli('registry', 'import', file, '--dry-run');
  assert.match(refused.stderr, /url is masked: export with --with-secrets/);
});
