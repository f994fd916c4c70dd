/** The commands that change one entry of the registry, on a store at rest. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { addCredentialCommand } from '../../../../src/cli/admin/credential-command.ts';
import { addDeviceCommand } from '../../../../src/cli/admin/device-command.ts';
import { lookIntoRegistry } from '../../../../src/cli/admin/local-registry.ts';
import { addWebhookCommand } from '../../../../src/cli/admin/webhook-command.ts';
import { addApplicationCommand } from '../../../../src/cli/registry/application-command.ts';
import { addProductCommand } from '../../../../src/cli/registry/product-command.ts';
import { addRegistryCommand } from '../../../../src/cli/registry/registry-command.ts';
import { commandScene, type CommandScene } from '../../../support/command-scene.ts';
import { sampleRegistry } from '../../../support/registry-entries.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';

const url = 'https://backend.example/new';

async function registryScene(t: Ending): Promise<CommandScene> {
  const scene = commandScene(t, (program) => {
    for (const add of [addApplicationCommand, addProductCommand, addDeviceCommand]) add(program);
    for (const add of [addCredentialCommand, addWebhookCommand, addRegistryCommand]) add(program);
  });
  const file = join(temporaryDirectory(t), 'registry.json');
  writeFileSync(file, JSON.stringify(sampleRegistry));
  await scene.run('registry', 'import', file);
  return scene;
}

function found(
  scene: CommandScene,
  kind: 'device' | 'product' | 'webhook',
  id: string,
): Promise<object | null> {
  return lookIntoRegistry(scene.dataDirectory, (registry) => registry.find(kind, id));
}

test('an application and its product are added, shown and, when nothing refers to them any more, removed', async (t) => {
  const { run, output } = await registryScene(t);
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

test('an entry that is there is replaced only when that is asked for, and a product keeps its defaults', async (t) => {
  const scene = await registryScene(t);
  const adding = ['product', 'add', 'doorbell', '--app', '2818153'];
  await assert.rejects(scene.run(...adding), {
    message: 'product "doorbell" is in the registry already: replace it with --replace',
  });
  await scene.run(...adding, '--replace');
  const { defaults } = sampleRegistry.products[0] ?? {};
  assert.deepEqual(((await found(scene, 'product', 'doorbell')) as { defaults: object }).defaults, defaults);
  const file = join(temporaryDirectory(t), 'defaults.json');
  writeFileSync(file, '{"heartbeat_s":60}');
  await scene.run(...adding, '--replace', '--defaults', file);
  assert.deepEqual(((await found(scene, 'product', 'doorbell')) as { defaults: object }).defaults, {
    heartbeat_s: 60,
  });
});

test('what is missing is named, with the list of its kind', async (t) => {
  const { run } = await registryScene(t);
  const cases: readonly [string, string, readonly string[]][] = [
    ['no application "none" in the registry', 'applications', ['product', 'add', 'bell', '--app', 'none']],
    ['no product "none" in the registry', 'products', ['product', 'remove', 'none']],
    ['no product "none" in the registry', 'products', ['device', 'set', 'TESTDEVICE01', '--product', 'none']],
    ['no device "none" in the registry', 'devices', ['device', 'remove', 'none']],
    ['no application "none" in the registry', 'applications', ['application', 'show', 'none']],
  ];
  for (const [message, list, args] of cases)
    await assert.rejects(run(...args), (error: Error & { advice: string }) => {
      assert.equal(error.message, message);
      assert.match(error.advice, new RegExp(`registry list ${list}$`));
      return true;
    });
});

test('an empty id is refused by the name of its field', async (t) => {
  const { run } = await registryScene(t);
  await assert.rejects(run('product', 'remove', ''), { name: 'CommandError', message: /^product_id: / });
  await assert.rejects(run('application', 'remove', ''), { name: 'CommandError', message: /^app_id: / });
});

test('a device is changed in what is named, and its fresh secret is shown once', async (t) => {
  const scene = await registryScene(t);
  const { run, output } = scene;
  const id = 'TESTDEVICE01';
  await run('device', 'set', id, '--expires-at', '2030-01-01', '--disable', '--label', 'site=north');
  const [before] = sampleRegistry.devices;
  const changed = { expiresAt: 1_893_456_000, disabled: true, labels: { site: 'north' } };
  const device = { deviceId: id, productId: 'doorbell', secret: before?.secret, ...changed };
  assert.deepEqual(await found(scene, 'device', id), device);
  await run('device', 'set', id, '--enable', '--expires-at', 'never', '--label', 'site=', '--secret');
  const fresh = (output.json as { device: { secret: string } }).device.secret;
  assert.match(fresh, /^[\w-]{43}$/);
  assert.ok(output.text.includes(`secret  ${fresh}  (shown this once)`));
  const { labels: _, ...rest } = device;
  const back = { ...rest, secret: fresh, expiresAt: null, disabled: false };
  assert.deepEqual(await found(scene, 'device', id), back);
  await assert.rejects(run('device', 'set', id), /nothing to change/);
  await assert.rejects(run('device', 'set', id, '--secret', 'guess me'), /secret must have 16 characters/);
  assert.deepEqual(await found(scene, 'device', id), back);
});

test('a webhook is added with a secret that is made, and removed by its URL', async (t) => {
  const scene = await registryScene(t);
  const { run, output } = scene;
  await run('webhook', 'add', url, '--app', '2818153', '--type', 'device.signal.online');
  const { webhook } = output.json as { webhook: { secret: string } };
  assert.match(webhook.secret, /^whsec_[\w+/]{43}=$/);
  assert.deepEqual(await found(scene, 'webhook', `2818153\n${url}`), {
    appId: '2818153',
    url,
    secret: webhook.secret,
    types: ['device.signal.online'],
  });
  await run('application', 'add', 'new', '--name', 'another');
  await run('webhook', 'add', url, '--app', 'new', '--secret', 'whsec_a secret that is given');
  assert.equal(JSON.stringify(output.json).includes('that is given'), false);
  await assert.rejects(run('webhook', 'remove', url), /several webhooks are called/);
  await run('webhook', 'remove', url, '--app', 'new');
  await run('webhook', 'remove', url);
  assert.equal(await found(scene, 'webhook', `2818153\n${url}`), null);
});
