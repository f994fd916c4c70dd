/**
 * A day's work at the console with the keyboard only, on a narrow screen: each control is reached by Tab, visible when focused,
 * and operated by Enter or Space. Source: docs/console.md.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { findOpsToken } from '../../src/gateways/ops/ops-token.ts';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { Chromium } from '../support/chromium.ts';
import { startServerProcess } from '../support/server-process.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { Person } from './person.ts';

const deviceId = 'DOOR-000042';
const secret = 'the secret of every device here';
/** More than any view has. */
const stopsMax = 120;
const shift = 8;

function writeRegistry(directory: string): string {
  const ids = Array.from({ length: 100 }, (_, at) => `DOOR-${String(at).padStart(6, '0')}`);
  const file = join(directory, 'registry.json');
  const entries = {
    applications: [{ app_id: '2818153', name: 'Front Door' }],
    products: [{ product_id: 'doorbell', app_ids: ['2818153'] }],
    devices: ids.map((device_id) => ({ device_id, product_id: 'doorbell', secret })),
  };
  writeFileSync(file, JSON.stringify(entries));
  return file;
}

/** Label of the focused control; empty: none. */
const focused = `((at) => at === document.body ? '' :
  (at.getAttribute('aria-label') ?? at.labels?.[0]?.textContent ?? at.textContent).trim())(document.activeElement)`;

/** The fault of the focused control; empty: it has an outline, and nothing covers its centre. */
const unseen = `((at) => {
  const { left, top, width, height } = at.getBoundingClientRect();
  const { outlineStyle, outlineWidth } = getComputedStyle(at);
  if (outlineStyle === 'none' || parseFloat(outlineWidth) < 1) return 'no outline';
  const [x, y] = [left + width / 2, top + height / 2];
  if (x < 0 || y < 0 || x > innerWidth || y > innerHeight) return 'outside of the window, at ' + [x, y, scrollY, document.documentElement.scrollHeight];
  const over = document.elementFromPoint(x, y);
  return at.contains(over) || over?.contains(at) ? '' : 'under ' + over?.outerHTML.slice(0, 80);
})(document.activeElement)`;

/** Waits for the repaint after scrolling. */
const unseenSoon = `new Promise((resolve) =>
  requestAnimationFrame(() => requestAnimationFrame(() => resolve(${unseen}))))`;

class KeyboardPerson extends Person {
  /** Presses Tab until the control with this label is focused; each control before it must be visible. */
  async tabTo(label: string, modifiers = 0): Promise<void> {
    const { browser } = this;
    const passed: string[] = [];
    for (let stop = 0; stop < stopsMax; stop++) {
      await browser.press('Tab', modifiers);
      const at = await browser.evaluate<string>(focused);
      if (at !== '')
        assert.equal(await browser.evaluate(unseenSoon), '', `${at} is seen when it has the focus`);
      if (at === label) return;
      passed.push(at);
    }
    assert.fail(`Tab never reaches ${label}: ${passed.join(' | ')}`);
  }

  async use(label: string, key: 'Enter' | ' ' = 'Enter'): Promise<void> {
    await this.tabTo(label);
    await this.browser.press(key);
  }

  async typeInto(label: string, text: string): Promise<void> {
    await this.tabTo(label);
    await this.browser.type(text);
  }

  /** Resolves when the dialog is open and one of its controls is focused. */
  async dialog(): Promise<void> {
    await this.browser.until(`document.querySelector('dialog[open]')?.contains(document.activeElement)`);
  }

  /** A closed dialog returns the focus to its button. */
  async isBackAt(label: string): Promise<void> {
    await this.browser.until(`${focused} === ${JSON.stringify(label)}`);
  }
}

test('an operator does a day of work with the keyboard only', async (t) => {
  const directory = temporaryDirectory(t);
  const { ports } = await startServerProcess(t, [
    `data.dir=${directory}`,
    `registry.file=${writeRegistry(directory)}`,
  ]);
  const module = await SleepingModule.connect(ports.sleep, { deviceId, secret });
  t.after(() => module.close());
  const browser = await Chromium.launch(t);
  const person = new KeyboardPerson(browser, `http://127.0.0.1:${ports.ops}`);
  await browser.resize(380, 700);
  await person.open();

  await browser.until(`document.activeElement.id === 'token'`);
  await browser.type(findOpsToken(directory) ?? '');
  await browser.press('Enter');
  await browser.until(`document.querySelectorAll('.plot canvas').length === 12`);

  await person.use('Devices');
  await person.sees('DOOR-000000');
  await person.typeInto('Id contains', '0042');
  await browser.press('Enter');
  await browser.until(`document.querySelectorAll('tbody tr:not(.unfolding)').length === 1`);
  await person.use('More', ' ');
  await browser.until(`document.querySelector('.unfolding details').open`);
  assert.match(
    await browser.evaluate(`document.querySelector('.unfolding dl').innerText`),
    /doorbell[^]*none[^]*yes/,
  );
  await person.tabTo(deviceId, shift);
  await browser.press('Enter');
  await browser.until(`document.querySelector('[aria-label="Wake ${deviceId}"]') !== null`);

  await person.use(`Wake ${deviceId}`);
  await person.dialog();
  await browser.press('Escape');
  await person.isBackAt(`Wake ${deviceId}`);
  await browser.press('Enter');
  await person.dialog();
  await browser.type('0x12ab');
  await browser.press('Enter');
  assert.equal((await module.nextPacket()).toString('hex').slice(-4), '12ab');
  await person.isBackAt(`Wake ${deviceId}`);
  await person.sees('waiting for it to come online');

  await person.use('Devices');
  // A new view takes the focus: a Tab before that would be lost.
  await browser.until(`document.activeElement.tagName === 'MAIN'`);
  await person.use('Add a device to the registry');
  await person.dialog();
  await browser.type('DOOR-NEW');
  await person.typeInto('Product', 'doorbell');
  await browser.press('Enter');
  await person.sees('This is shown once');
  assert.match(await browser.evaluate(`document.querySelector('dialog .secret').textContent`), /^\S{16,}$/);
  await person.use('Close');
  await person.sees('May log in');
  await browser.until(`document.querySelector('.secret') === null`);

  await person.use('Disable DOOR-NEW');
  await person.dialog();
  await browser.press('Enter');
  await person.sees('DOOR-NEW is disabled');
  await person.use('Remove DOOR-NEW');
  await person.dialog();
  await browser.press('Enter');
  await person.sees('DOOR-NEW is removed');

  await person.tabTo('Log out', shift);
  await browser.press('Enter');
  await person.sees('Logged out');
  await browser.until(`document.activeElement.id === 'token'`);
  // The device may still be read while it is removed, and the wakeup at the logout.
  const expected = /status of 404 .* http\S+device_id=DOOR-NEW$|status of 401 .* http\S+\/v1\/wakeups/;
  assert.deepEqual(
    browser.problems.filter((problem) => !expected.test(problem)),
    [],
  );
});

test('the page announces an expired wakeup without a dialog, and announces nothing after the view was left', async (t) => {
  const directory = temporaryDirectory(t);
  const { ports } = await startServerProcess(t, [
    `data.dir=${directory}`,
    `registry.file=${writeRegistry(directory)}`,
  ]);
  const module = await SleepingModule.connect(ports.sleep, { deviceId, secret });
  t.after(() => module.close());
  const browser = await Chromium.launch(t);
  const person = new KeyboardPerson(browser, `http://127.0.0.1:${ports.ops}`);
  const expired = `{ wakeups: [{ status: 'expired', completed_at: null, woke_after_ms: null }] }`;
  await browser.before(
    `const send = fetch; globalThis.asked = 0; globalThis.answer = () => undefined;
     globalThis.fetch = (url, ...terms) => !url.startsWith('/v1/wakeups') ? send(url, ...terms) :
       new Promise((resolve) => { asked += 1; answer = () => resolve(Response.json(${expired})); });`,
  );
  const wake = async (): Promise<void> => {
    await person.use(`Wake ${deviceId}`);
    await person.dialog();
    await browser.press('Enter');
    await module.nextPacket();
    await person.sees('waiting for it to come online');
  };
  await person.open();
  await person.logIn(findOpsToken(directory) ?? '');
  await person.visit(
    `#/device?id=${deviceId}`,
    `document.querySelector('[aria-label="Wake ${deviceId}"]') !== null`,
  );

  await wake();
  await browser.evaluate(`answer()`);
  await person.sees('it did not wake: expired');
  assert.equal(await browser.evaluate(`document.querySelector('dialog')`), null);

  await wake();
  await browser.until(`asked === 2`);
  await person.visit('#/devices', `document.querySelector('tbody tr') !== null`);
  await browser.evaluate(`answer()`);
  await browser.evaluate(
    `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))`,
  );
  assert.equal(await browser.evaluate(`document.querySelector('.news').textContent`), '');
  assert.equal(await browser.evaluate(`document.querySelector('dialog')`), null);
});

test('the feed shows an event at once, and keeps an unfolded row and the focus', async (t) => {
  const directory = temporaryDirectory(t);
  const { ports } = await startServerProcess(t, [
    `data.dir=${directory}`,
    `registry.file=${writeRegistry(directory)}`,
  ]);
  const first = await SleepingModule.connect(ports.sleep, { deviceId, secret });
  t.after(() => first.close());
  const browser = await Chromium.launch(t);
  const person = new KeyboardPerson(browser, `http://127.0.0.1:${ports.ops}`);
  await browser.resize(380, 700);
  await browser.before(
    `const send = fetch; globalThis.asked = []; globalThis.fetch = (...terms) => (asked.push(terms[0]), send(...terms));`,
  );
  await person.open();
  await person.logIn(findOpsToken(directory) ?? '');
  await person.visit('#/events', `document.querySelectorAll('tbody tr:not(.unfolding)').length === 1`);
  await person.use('More');
  await browser.until(`asked.at(-1).includes('wait=')`);
  const before = await browser.evaluate<number>('asked.length');
  const second = await SleepingModule.connect(ports.sleep, { deviceId: 'DOOR-000007', secret });
  t.after(() => second.close());
  await browser.until(`document.querySelectorAll('tbody tr:not(.unfolding)').length === 2`);
  const later = (await browser.evaluate<number>('asked.length')) - before;
  assert.ok(later <= 1, 'it came with the request that waited; one more may wait for the next');
  const opened = `[...document.querySelectorAll('.unfolding details')].map((each) => each.open)`;
  assert.deepEqual(await browser.evaluate(opened), [false, true]);
  assert.equal(await browser.evaluate(focused), 'More');
  assert.equal(await browser.evaluate(`document.activeElement.closest('details').open`), true);
});
