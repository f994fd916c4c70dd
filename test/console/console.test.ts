/**
 * The console in a browser, with a server process of its own: an operator logs in, reads the overview, finds one device among
 * thousands, sees why it was offline, and wakes it; a viewer sees the same and can change nothing. Checked with axe at two
 * widths, in light and dark. Source: docs/console.md.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { OpsClient } from '../../src/cli/admin/ops-client.ts';
import { findOpsToken } from '../../src/gateways/ops/ops-token.ts';
import { SignalController } from '../../src/tools/simulator/signal-controller.ts';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { Chromium } from '../support/chromium.ts';
import { startServerProcess, type ListenerPorts } from '../support/server-process.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';
import { hasRows, Person } from './person.ts';
import { complaints, keepPicture, overflow } from './seen-page.ts';

const secret = 'the secret of every device here';
const hostileId = '<img src=x onerror=alert(1)>';
const deviceId = 'DOOR-001234';
const deviceCount = 3000;

/** The application of all products has a webhook without a receiver. */
function writeRegistry(directory: string): string {
  const ids = Array.from({ length: deviceCount }, (_, at) => `DOOR-${String(at).padStart(6, '0')}`);
  const file = join(directory, 'registry.json');
  const entries = {
    applications: [{ app_id: '2818153', name: 'Front Door' }],
    products: [{ product_id: 'doorbell', app_ids: ['2818153'] }],
    devices: [hostileId, ...ids].map((device_id) => ({ device_id, product_id: 'doorbell', secret })),
    webhooks: [{ app_id: '2818153', url: 'http://127.0.0.1:9/<b>hook</b>', secret: 'a-secret-of-a-webhook' }],
  };
  writeFileSync(file, JSON.stringify(entries));
  return file;
}

class Device {
  readonly #ports: ListenerPorts;
  #module: SleepingModule | null = null;
  #controller: SignalController | null = null;

  constructor(t: Ending, ports: ListenerPorts) {
    this.#ports = ports;
    t.after(async () => {
      await this.#module?.close();
      await this.#controller?.close();
    });
  }

  async sleep(): Promise<void> {
    this.#module = await SleepingModule.connect(this.#ports.sleep, { deviceId, secret });
  }

  async losePower(): Promise<void> {
    await this.#module?.close();
  }

  /** Resolves when the packet arrived and the controller is online. */
  async wakeByPacket(): Promise<void> {
    await this.#module?.nextPacket();
    const url = `ws://127.0.0.1:${this.#ports.signal}/v1/signal`;
    this.#controller = await SignalController.connect({ url, deviceId, secret });
  }
}

/** Each view by its address, with the condition that it has its answer. */
const views: readonly (readonly [hash: string, ready: string])[] = [
  ['#/overview', `document.querySelectorAll('.plot canvas').length === 12`],
  ['#/alarms', hasRows],
  ['#/devices', hasRows],
  [`#/device?id=${deviceId}`, `document.querySelector('.time-line svg .bar.asleep') !== null`],
  ['#/registry', hasRows],
  ['#/registry?kind=tokens', `document.body.innerText.includes('There is none')`],
  ['#/webhooks', `document.querySelector('.webhook') !== null`],
  ['#/events', hasRows],
  ['#/calls', `document.body.innerText.includes('No live call')`],
  ['#/cluster', `document.querySelectorAll('section table').length === 2`],
  ['#/audit', hasRows],
  ['#/settings', hasRows],
];

/** Views that consist of more than tables; axe checks all others only once. */
const drawnViews = new Set(['#/overview', `#/device?id=${deviceId}`]);

async function checkWithAxe(t: TestContext, person: Person): Promise<void> {
  const { browser } = person;
  for (const [width, scheme] of [
    [1440, 'light'],
    [380, 'dark'],
  ] as const) {
    await browser.resize(width, 900);
    await browser.prefer(scheme);
    for (const [hash, ready] of views) {
      await person.visit(hash, ready);
      assert.equal(await browser.evaluate(overflow), 0, `${hash} needs no scrolling to the side at ${width}`);
      if (scheme === 'light' || drawnViews.has(hash))
        assert.deepEqual(await complaints(browser), [], `${hash} at ${width}, ${scheme}`);
      if (hash === '#/overview' && scheme === 'dark') await keepPicture(t, browser, 'narrow');
    }
  }
  await browser.resize(1440, 900);
}

/** Proves that axe finds a field without a label. */
async function proveAxe(browser: Chromium): Promise<void> {
  await browser.evaluate(`document.querySelector('main').append(document.createElement('select')), 0`);
  assert.match((await complaints(browser)).join('\n'), /select-name/);
  await browser.evaluate(`document.querySelector('main > select').remove()`);
}

/** The server has fewer open files than its settings require. */
async function seesAlarm(person: Person): Promise<void> {
  const { browser } = person;
  const link = `document.querySelector('.head a')`;
  await browser.until(`/doctor open files/.test(${link}?.textContent)`);
  await browser.evaluate(`${link}.click()`);
  await person.sees('LimitNOFILE');
  await browser.resize(380, 900);
  assert.equal(await browser.evaluate(`document.body.innerText.includes('LimitNOFILE')`), false);
  await browser.evaluate(`document.querySelectorAll('.unfolding summary').forEach((each) => each.click())`);
  await person.sees('LimitNOFILE');
  assert.deepEqual(await complaints(browser), [], 'an unfolded alarm');
  await browser.resize(1440, 900);
}

test('an operator finds a device among thousands, sees why it was offline and wakes it, and a viewer can only look', async (t) => {
  const directory = temporaryDirectory(t);
  const settings = [
    'api.fronts=2',
    `data.dir=${directory}`,
    `registry.file=${writeRegistry(directory)}`,
    'webhooks.allow_local=true',
  ];
  const { ports } = await startServerProcess(t, settings, {}, [], { openFilesMax: 4096 });
  const token = findOpsToken(directory) ?? '';
  const device = new Device(t, ports);
  await device.sleep();
  await device.losePower();
  const ops = new OpsClient(`http://127.0.0.1:${ports.ops}`, token);
  const lost = new URLSearchParams({ device_id: deviceId, type: 'device.sleep.offline', wait: '10' });
  await ops.ask('/v1/events', lost);
  await device.sleep();

  const browser = await Chromium.launch(t);
  const person = new Person(browser, `http://127.0.0.1:${ports.ops}`);
  await browser.resize(1440, 900);
  await person.open();
  assert.deepEqual(await complaints(browser), [], 'the login');
  await proveAxe(browser);
  await person.logIn('no token of anybody');
  await person.sees('no such token');
  await person.logIn(token);

  // The first record of the figures counts the registry, the next one the sleeping device.
  await browser.until(`document.querySelectorAll('.plot canvas').length === 12`);
  await browser.until(`/sleeping devices\\s+1\\b/.test(document.querySelector('.tiles').innerText)`);
  await browser.until(`/registered devices\\s+3,001\\b/.test(document.querySelector('.tiles').innerText)`);
  await browser.until(`/version 0[.]1[.]0, up for/.test(document.querySelector('.head').innerText)`);
  await browser.until(`document.querySelectorAll('details section').length === 2`);
  await keepPicture(t, browser, 'overview');
  await seesAlarm(person);

  await person.visit('#/devices', hasRows);
  await person.sees(hostileId);
  assert.equal(await browser.evaluate(`document.querySelectorAll('img, script:not([src])').length`), 0);
  await browser.evaluate(`document.querySelector('#contains').value = 'DOOR-00123'`);
  await person.press('Find');
  await browser.until(`document.querySelectorAll('tbody tr:not(.unfolding)').length === 10`);
  await browser.evaluate(
    `[...document.querySelectorAll('tbody a')].find((each) => each.textContent === '${deviceId}').click()`,
  );
  await person.sees('Time machine');
  await browser.until(`document.querySelectorAll('.time-line .bar.asleep').length === 2`);
  await browser.until(`document.querySelectorAll('.time-line .bar.offline').length === 1`);
  await person.sees('the device closed the connection');

  await person.press('Wake');
  await person.press('Wake');
  await device.wakeByPacket();
  await browser.until(`/${deviceId} woke after/.test(document.querySelector('.news').innerText)`);
  await browser.until(`document.querySelector('.time-line .bar.woke') !== null`);
  await person.sees('was sent a wakeup');
  await keepPicture(t, browser, 'device');

  await checkWithAxe(t, person);

  const kept = `JSON.stringify([document.cookie, localStorage.length, sessionStorage.length, location.search])`;
  assert.equal(
    await browser.evaluate(kept),
    '["",0,0,""]',
    'no token and no cookie is where a script finds it',
  );
  await person.press('Log out');
  const { token: viewing } = await ops.change<{ token: string }>('/v1/ops-tokens/create', {
    name: 'viola',
    role: 'viewer',
  });
  await person.logIn(viewing);
  await person.visit(
    `#/device?id=${deviceId}`,
    `document.querySelector('.time-line svg .bar.woke') !== null`,
  );
  await person.sees('viola, viewer');
  const buttons = `[...document.querySelectorAll('main button')].filter((each) => !each.hidden).map((each) => each.textContent)`;
  assert.deepEqual(await browser.evaluate(buttons), [], 'a viewer is offered nothing that changes something');
  const refused = `(async () => {
    const { session } = await (await fetch('/console/session')).json();
    const headers = { 'X-Reveille-Csrf': session.csrf, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ device_id: '${deviceId}' });
    return (await fetch('/v1/device/kick', { method: 'POST', headers, body })).status;
  })()`;
  assert.equal(await browser.evaluate(refused), 403);
  await ops.change('/v1/ops-tokens/revoke', { name: 'viola' });
  await person.sees('The session is over');

  const expected = /^Failed to load resource: the server responded with a status of (?:401|403)/;
  assert.deepEqual(
    browser.problems.filter((problem) => !expected.test(problem)),
    [],
    'nothing was refused by the policy of the page',
  );
});
