/** Entries that an operator adds to a running server's registry, changes and removes, one at a time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OpsClient } from '../../src/cli/admin/ops-client.ts';
import type { AuditLine } from '../../src/model/audit.ts';
import { opsOf } from '../support/driven-server.ts';
import { startTestServer } from '../support/test-server.ts';

const url = 'http://127.0.0.1:9/hook';

async function webhookUrls(ops: OpsClient): Promise<string[]> {
  const { webhooks } = await ops.ask<{ webhooks: { url: string }[] }>('/v1/webhook/list');
  return webhooks.map((webhook) => webhook.url);
}

test('moments in milliseconds are refused by every change of the registry, with that guess', async (t) => {
  const server = await startTestServer();
  t.after(() => server.stop());
  const ops = opsOf(server);
  const app_id = server.credentials.all.appId;
  const ms = 1_795_163_400_000;
  const changes: readonly [path: string, field: string, body: object][] = [
    ['/v1/device/add', 'expires_at', { device_id: 'D', product_id: 'doorbell' }],
    ['/v1/device/set', 'expires_at', { device_id: 'TESTDEVICE01' }],
    ['/v1/credential/create', 'not_before', { app_id }],
    ['/v1/credential/create', 'not_after', { app_id }],
  ];
  for (const [path, field, body] of changes)
    await assert.rejects(
      ops.change(path, { ...body, [field]: ms }),
      new RegExp(`${field}.*at most 253402300799.*not milliseconds`),
      path,
    );
});

test('an application, its product, device and webhook come and go in a running server, each a line of the audit log', async (t) => {
  const server = await startTestServer();
  t.after(() => server.stop());
  const ops = opsOf(server);
  await ops.change('/v1/application/add', { app_id: 'new', name: 'another' });
  await assert.rejects(
    ops.change('/v1/application/add', { app_id: 'new', name: 'x' }),
    /already: replace it/,
  );
  await ops.change('/v1/product/add', { product_id: 'bell', app_ids: ['new'] });
  await ops.change('/v1/device/add', { device_id: 'D', product_id: 'bell' });
  await ops.change('/v1/device/set', { device_id: 'D', expires_at: 1, labels: { site: 'north' } });
  const added = await ops.change<{ webhook: { secret: string } }>('/v1/webhook/add', { app_id: 'new', url });
  assert.deepEqual((await webhookUrls(ops)).includes(url), true, 'it is told events at once');
  await assert.rejects(ops.change('/v1/product/remove', { product_id: 'bell' }), {
    message: 'product "bell" is in use by 1 device (D): remove those first',
  });
  await ops.change('/v1/device/remove', { device_id: 'D' });
  await ops.change('/v1/product/remove', { product_id: 'bell' });
  await ops.change('/v1/webhook/remove', { url });
  assert.deepEqual((await webhookUrls(ops)).includes(url), false);
  await ops.change('/v1/application/remove', { app_id: 'new' });
  await assert.rejects(
    ops.change('/v1/product/add', { product_id: 'bell', app_ids: ['new'] }),
    /no application/,
  );

  const lines = server.log.lines.filter(({ message }) => message === 'audit').map(({ fields }) => fields);
  const told = (lines as unknown as AuditLine[]).map(({ action, result }) => `${action} ${result}`);
  assert.deepEqual(told.slice(-12), [
    'application.add ok',
    'application.add refused',
    'product.add ok',
    'device.add ok',
    'device.change ok',
    'webhook.add ok',
    'product.remove refused',
    'device.remove ok',
    'product.remove ok',
    'webhook.remove ok',
    'application.remove ok',
    'product.add refused',
  ]);
  assert.equal(JSON.stringify(lines).includes(added.webhook.secret), false);
});
