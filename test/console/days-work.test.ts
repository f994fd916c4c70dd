/**
 * A day's work of an operator at the console, without a terminal: fills the registry entry by entry, wakes a device with custom
 * data, sends it a message, and removes entries. Source: docs/console.md.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OpsClient } from '../../src/cli/admin/ops-client.ts';
import { findOpsToken } from '../../src/gateways/ops/ops-token.ts';
import { SignalController } from '../../src/tools/simulator/signal-controller.ts';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { Chromium } from '../support/chromium.ts';
import { startServerProcess } from '../support/server-process.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { hasRows, Person } from './person.ts';
import { complaints, overflow } from './seen-page.ts';

test('an operator adds, changes and removes entries of every kind, and works with a device', async (t) => {
  const directory = temporaryDirectory(t);
  const { ports } = await startServerProcess(t, [`data.dir=${directory}`, 'webhooks.allow_local=true']);
  const token = findOpsToken(directory) ?? '';
  const ops = new OpsClient(`http://127.0.0.1:${ports.ops}`, token);
  const browser = await Chromium.launch(t);
  const person = new Person(browser, `http://127.0.0.1:${ports.ops}`);
  await browser.resize(1440, 900);
  await person.open();
  await person.logIn(token);

  await person.visit('#/registry', `document.body.innerText.includes('There is none')`);
  await person.press('Add an application');
  await person.fillIn({ app_id: '2818153', name: 'Front Door' }, 'Add an application');
  await person.sees('Front Door');
  await person.visit('#/registry?kind=products', `document.body.innerText.includes('There is none')`);
  await person.press('Add a product');
  await person.fillIn({ product_id: 'doorbell', app_ids: '7' }, 'Add a product');
  await person.sees('no application "7"');
  assert.equal(
    await browser.evaluate(`document.querySelector('dialog [name=product_id]').value`),
    'doorbell',
    'what was typed is still there',
  );
  assert.deepEqual(await complaints(browser), [], 'the dialog');
  await person.fillIn({ app_ids: '2818153' }, 'Add a product');
  await browser.until(hasRows);

  await person.visit('#/registry?kind=credentials', `document.body.innerText.includes('There is none')`);
  await person.press('Create a credential');
  await person.fillIn({ app_id: '2818153', permissions: 'wakeup:write' }, 'Create a credential');
  assert.match(await person.keepSecret('Secret key'), /^[\w-]{43}$/);
  await browser.until(hasRows);
  assert.equal(await browser.evaluate(`document.body.innerHTML.includes('secret_key')`), false);
  await person.press('Revoke');
  await person.press('Revoke');
  await browser.until(`document.querySelector('tbody').innerText.includes('revoked')`);

  await person.visit('#/registry?kind=bridges', `document.body.innerText.includes('There is none')`);
  await person.press('Add a bridge');
  await person.fillIn({ bridge_id: 'bridge-1', app_ids: '2818153' }, 'Add a bridge');
  assert.match(await person.keepSecret('Key'), /^[\w-]{43}$/);
  await person.visit('#/registry?kind=tokens', `document.body.innerText.includes('There is none')`);
  await person.press('Create a token');
  await person.fillIn({ name: 'viola', role: 'viewer' }, 'Create a token');
  await person.keepSecret('Token');
  await browser.until(hasRows);
  await browser.resize(380, 900);
  assert.equal(
    await browser.evaluate(overflow),
    0,
    'the rows with their actions need no scrolling to the side',
  );
  await browser.resize(1440, 900);

  await person.visit('#/webhooks', `document.body.innerText.includes('Front Door (2818153)')`);
  await person.press('Add a webhook');
  await person.fillIn({ url: 'http://127.0.0.1:9/hook' }, 'Add a webhook');
  assert.match(await person.keepSecret('Secret'), /^whsec_/);
  await person.press('Test');
  await person.press('Test');
  await person.sees('not delivered');

  await person.visit('#/devices', `document.body.innerText.includes('No device found')`);
  await person.press('Add a device');
  await person.fillIn({ device_id: 'DOOR-1', product_id: 'doorbell', labels: 'flat=7' }, 'Add a device');
  const secret = await person.keepSecret('Secret');
  await person.sees('flat=7');
  await person.press('Change');
  await person.fillIn({ labels: 'flat=8\nfloor=2' }, 'Change');
  await person.sees('flat=8');

  const module = await SleepingModule.connect(ports.sleep, { deviceId: 'DOOR-1', secret });
  t.after(() => module.close());
  await person.press('Wake');
  await person.fillIn({ custom_data: '0x12ab' }, 'Wake');
  assert.equal((await module.nextPacket()).toString('hex').slice(-4), '12ab');
  const url = `ws://127.0.0.1:${ports.signal}/v1/signal`;
  const controller = await SignalController.connect({
    url,
    deviceId: 'DOOR-1',
    secret,
    autoAcknowledge: true,
  });
  t.after(() => controller.close());
  await person.sees('DOOR-1 woke after');
  await person.press('Send a message');
  await person.fillIn({ name: 'ring', payload: '{"tone":"loud"}' }, 'Send a message');
  await person.sees('DOOR-1 acknowledged the message');
  assert.equal((await controller.nextMessage()).name, 'ring');
  await person.press('Remove');
  await person.press('Remove');
  await person.sees('No device found');

  const { lines } = await ops.ask<{ readonly lines: readonly { readonly action: string }[] }>(
    '/v1/audit',
    new URLSearchParams(),
  );
  const actions = new Set(lines.map(({ action }) => action));
  for (const action of ['device.add', 'device.change', 'device.message', 'device.wake', 'device.remove'])
    assert.ok(actions.has(action), `${action} stands in the audit log`);
});
