/** The commands that change one entry of a running server's registry. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Command } from 'commander';
import type { AuditLine } from '../../src/model/audit.ts';
import { addBridgeCommand } from '../../src/cli/admin/bridge-command.ts';
import { addCredentialCommand } from '../../src/cli/admin/credential-command.ts';
import { addDeviceCommand } from '../../src/cli/admin/device-command.ts';
import { addWebhookCommand } from '../../src/cli/admin/webhook-command.ts';
import { addApplicationCommand } from '../../src/cli/registry/application-command.ts';
import { addProductCommand } from '../../src/cli/registry/product-command.ts';
import { addRegistryCommand } from '../../src/cli/registry/registry-command.ts';
import { commandScene, type CommandScene } from '../support/command-scene.ts';
import { opsOf } from '../support/driven-server.ts';
import { sampleRegistry } from '../support/registry-entries.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

const url = 'https://backend.example/new';

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

interface RegistryScene extends CommandScene {
  readonly server: TestServer;
  /** The entry as shown to operators. Rejects when there is none. */
  readonly found: (kind: 'device' | 'product' | 'webhook', id: string) => Promise<Record<string, unknown>>;
}

/** Every test begins with the registry of the sample. */
async function registryScene(t: Ending): Promise<RegistryScene> {
  const addAll = (program: Command): void => {
    for (const add of [addApplicationCommand, addProductCommand, addDeviceCommand]) add(program);
    for (const add of [addCredentialCommand, addWebhookCommand, addRegistryCommand]) add(program);
    addBridgeCommand(program);
  };
  const scene = commandScene(t, addAll, { dataDir: server.dataDirectory });
  const file = join(temporaryDirectory(t), 'registry.json');
  writeFileSync(file, JSON.stringify(sampleRegistry));
  await scene.run('registry', 'import', file, '--replace', '--yes');
  const found: RegistryScene['found'] = async (kind, id) => {
    const query = new URLSearchParams({ kind, id });
    const { entry } = await opsOf(server).ask<{ entry: Record<string, unknown> }>(
      '/v1/registry/entry',
      query,
    );
    return entry;
  };
  return { ...scene, server, found };
}

test('an application and its product are added, shown and removed once unreferenced, each with a line in the audit log', async (t) => {
  const { run, output, server } = await registryScene(t);
  await run('application', 'add', 'new', '--name', 'another');
  await run('product', 'add', 'bell', '--app', 'new');
  await run('product', 'show', 'bell');
  assert.deepEqual(output.json, { product: { product_id: 'bell', app_ids: ['new'] } });
  await run('device', 'add', 'D', '--product', 'bell');
  await assert.rejects(run('product', 'remove', 'bell'), {
    message: 'product "bell" is in use by 1 device (D): remove those first',
  });
  await assert.rejects(run('application', 'remove', '2818153'), {
    message:
      'application "2818153" is in use by 1 product (doorbell), 1 credential (AKTEST), ' +
      '1 webhook (2818153 https://backend.example/hook), 1 bridge (bridge-1): remove those first',
  });
  await run('device', 'remove', 'D');
  await run('product', 'remove', 'bell');
  await run('application', 'remove', 'new');
  await run('application', 'list');
  assert.deepEqual(output.json, { applications: sampleRegistry.applications, next: null });
  const lines = server.log.lines.filter(({ message }) => message === 'audit').map(({ fields }) => fields);
  const told = (lines as unknown as AuditLine[]).map(({ action, result }) => `${action} ${result}`);
  assert.deepEqual(told.slice(-8), [
    'application.add ok',
    'product.add ok',
    'device.add ok',
    'product.remove refused',
    'application.remove refused',
    'device.remove ok',
    'product.remove ok',
    'application.remove ok',
  ]);
});

test('an application without products keeps its access keys until they are removed', async (t) => {
  const { run, output } = await registryScene(t);
  await run('application', 'add', 'new', '--name', 'another');
  await run('credential', 'create', '--app', 'new');
  const { access_key_id: accessKeyId } = output.json as { access_key_id: string };
  await assert.rejects(run('application', 'remove', 'new'), /in use by 1 credential/);
  await run('credential', 'remove', accessKeyId);
  await run('application', 'remove', 'new');
});

test('an existing entry is replaced only with --replace, and a product keeps its defaults', async (t) => {
  const scene = await registryScene(t);
  const adding = ['product', 'add', 'doorbell', '--app', '2818153'];
  await assert.rejects(scene.run(...adding), {
    message: 'product "doorbell" is in the registry already: replace it with --replace',
  });
  await scene.run(...adding, '--replace');
  const { defaults } = sampleRegistry.products[0] ?? {};
  assert.deepEqual((await scene.found('product', 'doorbell'))['defaults'], defaults);
  const file = join(temporaryDirectory(t), 'defaults.json');
  writeFileSync(file, '{"heartbeat_s":60}');
  await scene.run(...adding, '--replace', '--defaults', file);
  assert.deepEqual((await scene.found('product', 'doorbell'))['defaults'], { heartbeat_s: 60 });
});

test('a missing entry is named, with the list of its kind', async (t) => {
  const { run } = await registryScene(t);
  const cases: readonly [kind: string, args: readonly string[]][] = [
    ['application', ['product', 'add', 'bell', '--app', 'none']],
    ['product', ['product', 'remove', 'none']],
    ['product', ['device', 'set', 'TESTDEVICE01', '--product', 'none']],
    ['device', ['device', 'remove', 'none']],
    ['application', ['application', 'show', 'none']],
    ['application', ['bridge', 'add', 'B', '--app', 'none']],
    ['bridge', ['bridge', 'revoke', 'none']],
  ];
  for (const [kind, args] of cases)
    await assert.rejects(run(...args), (error: Error & { advice: string }) => {
      assert.equal(error.message, `no ${kind} "none" in the registry`);
      assert.match(error.advice, new RegExp(`${kind} list$`));
      return true;
    });
});

test('an empty id is refused with the name of its field', async (t) => {
  const { run } = await registryScene(t);
  await assert.rejects(run('product', 'remove', ''), { name: 'CommandError', message: /^product_id: / });
  await assert.rejects(run('application', 'remove', ''), { name: 'CommandError', message: /^app_id: / });
});

test('only the named fields of a device change, and its new secret is shown once', async (t) => {
  const { run, output, found } = await registryScene(t);
  const id = 'TESTDEVICE01';
  await run('device', 'set', id, '--expires-at', '2030-01-01', '--label', 'site=north');
  await run('device', 'disable', id);
  const device = { device_id: id, product_id: 'doorbell', secret: '***' };
  const changed = { ...device, expires_at: 1_893_456_000, disabled: true, labels: { site: 'north' } };
  assert.deepEqual(await found('device', id), changed);
  await run('device', 'disable', id, '--enable');
  await run('device', 'set', id, '--expires-at', 'never', '--label', 'site=', '--secret');
  const fresh = (output.json as { device: { secret: string } }).device.secret;
  assert.match(fresh, /^[\w-]{43}$/);
  assert.ok(output.text.includes(`secret  ${fresh}  (shown this once)`));
  const file = join(temporaryDirectory(t), 'device.json');
  await run('device', 'set', id, '--secret', '--output', file);
  assert.equal(output.text, `the secret is in ${file}, readable by its owner only`);
  const kept = JSON.parse(readFileSync(file, 'utf8')) as { device: { secret: string } };
  assert.match(kept.device.secret, /^[\w-]{43}$/);
  assert.notEqual(kept.device.secret, fresh);
  const back = { ...device, expires_at: null, disabled: false };
  assert.deepEqual(await found('device', id), back);
  await assert.rejects(run('device', 'set', id), /nothing to change/);
  const unmade = run('device', 'set', id, '--expires-at', 'never', '--output', `${file}.none`);
  await assert.rejects(unmade, /--output needs a generated secret/);
  await assert.rejects(run('device', 'set', id, '--secret', 'guess me'), /secret must have 16 characters/);
  assert.deepEqual(await found('device', id), back);
});

test('a device is added with a generated secret, which is shown, and again only with --replace', async (t) => {
  const { run, output } = await registryScene(t);
  const secretOf = (): string => (output.json as { device: { secret: string } }).device.secret;
  const adding = ['device', 'add', 'NEW', '--product', 'doorbell'];
  await run(...adding);
  const made = secretOf();
  assert.match(made, /^[\w-]{43}$/);
  assert.equal(output.text, `added NEW to product doorbell\nsecret  ${made}`);
  await assert.rejects(run(...adding), /in the registry already/);
  await run(...adding, '--replace', '--secret', 'a secret that is given');
  assert.deepEqual([secretOf(), output.text], ['***', 'added NEW to product doorbell']);
});

test('each kind lists its own entries, as registry list does', async (t) => {
  const { run, output } = await registryScene(t);
  for (const kind of ['application', 'product', 'credential', 'device', 'bridge']) {
    await run(kind, 'list', '--limit', '1');
    const { json, text } = output;
    await run('registry', 'list', `${kind}s`, '--limit', '1');
    assert.deepEqual([json, text], [output.json, output.text], kind);
  }
});

test('an access key is rotated and revoked', async (t) => {
  const { run, output } = await registryScene(t);
  await run('credential', 'rotate', 'AKTEST', '--grace', '1h');
  const { access_key_id: fresh, replaced } = output.json as { access_key_id: string; replaced: string };
  assert.equal(replaced, 'AKTEST');
  await run('credential', 'revoke', 'AKTEST');
  await run('credential', 'list');
  const { credentials } = output.json as { credentials: { access_key_id: string; revoked: boolean }[] };
  assert.deepEqual(Object.fromEntries(credentials.map((each) => [each.access_key_id, each.revoked])), {
    AKTEST: true,
    [fresh]: false,
  });
});

test('a webhook is added with a generated secret, and removed by its URL', async (t) => {
  const { run, output, found, server } = await registryScene(t);
  await run('webhook', 'add', url, '--app', '2818153', '--type', 'device.signal.online');
  const { webhook } = output.json as { webhook: { secret: string } };
  assert.equal(JSON.stringify(server.log.lines).includes(webhook.secret), false);
  assert.match(webhook.secret, /^whsec_[\w+/]{43}=$/);
  assert.deepEqual(await found('webhook', `2818153 ${url}`), {
    app_id: '2818153',
    url,
    secret: '***',
    types: ['device.signal.online'],
  });
  await run('application', 'add', 'new', '--name', 'another');
  await run('webhook', 'add', url, '--app', 'new', '--secret', 'whsec_a secret that is given');
  assert.equal(JSON.stringify(output.json).includes('that is given'), false);
  await assert.rejects(run('webhook', 'remove', url), /several webhooks match/);
  await run('webhook', 'remove', url, '--app', 'new');
  await run('webhook', 'remove', url);
  await assert.rejects(found('webhook', `2818153 ${url}`), /no webhook/);
});
