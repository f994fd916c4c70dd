/**
 * The picture of README: the time line of a simulated device that sleeps, is woken, has a call and loses its power.
 * `PICTURES=docs/images npm run test:with -- console` renews the picture in README.
 */
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import sharp from 'sharp';
import { OpsClient } from '../../src/cli/admin/ops-client.ts';
import type { EventsAnswer } from '../../src/gateways/admin/event-query.ts';
import { findOpsToken } from '../../src/gateways/ops/ops-token.ts';
import { Chromium } from '../support/chromium.ts';
import { LongCommand, runCli } from '../support/cli-process.ts';
import { startServerProcess, withMedia } from '../support/server-process.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

const folder = process.env['PICTURES'] ?? tmpdir();
const deviceId = 'DEMO-DOORBELL-1';
const waitSeconds = 20;
const widthPx = 1120;
/** Bars of the time line: after the start, each of three wakeups, and the return. */
const asleepBars = 5;

const bars = (kind: string): string => `document.querySelectorAll('.time-line .bar.${kind}').length`;

test('the time line shows how a device slept, was woken, had a call, lost its power and came back', async (t) => {
  const directory = temporaryDirectory(t);
  const store = ['--data-dir', directory];
  const { ports } = await startServerProcess(t, [...withMedia, `data.dir=${directory}`], {}, ['--demo']);
  const origin = `http://127.0.0.1:${ports.ops}`;
  const token = findOpsToken(directory) ?? '';
  const ops = new OpsClient(origin, token);
  let after = 0;
  /** Resolves after the next event of this type. */
  const happens = async (type: string): Promise<void> => {
    const query = { device_id: deviceId, type, after, limit: 1, wait: waitSeconds };
    const { events, next } = await ops.ask<EventsAnswer>('/v1/events', query);
    assert.equal(events.length, 1, `no ${type} came`);
    after = next;
  };
  const devices = ['simulate', '--devices', '2', '--online-for', '5', ...store];
  const wake = async (): Promise<void> => {
    const { exitCode, stderr } = await runCli(['wake', deviceId, '--wait', ...store]);
    assert.equal(exitCode, 0, stderr);
  };

  const play = (): LongCommand => new LongCommand(t, devices);
  const powered = play();
  await happens('device.sleep.login');
  await wake();
  await happens('device.sleep.login');
  await wake();
  const call = await runCli(['simulate', '--call', deviceId, '--duration', '4', ...store]);
  assert.equal(call.exitCode, 0, call.stderr);
  await happens('device.sleep.login');
  await powered.stop('SIGKILL');
  await happens('device.sleep.offline');
  play();
  await happens('device.sleep.login');
  await wake();

  const browser = await Chromium.launch(t);
  await browser.resize(widthPx, 800);
  await browser.open(`${origin}/console#/device?id=${deviceId}`);
  await browser.until(`document.querySelector('#token') !== null`);
  await browser.evaluate(`document.querySelector('#token').value = ${JSON.stringify(token)}`);
  await browser.evaluate(`document.querySelector('button[type="submit"]').click()`);
  await browser.until(`${bars('asleep')} >= ${asleepBars} && ${bars('woke')} >= 3`);
  await browser.evaluate(`[...document.querySelectorAll('.spans input')].at(-1).click()`);
  await browser.until(`${bars('call')} === 1 && ${bars('offline')} >= 1`);
  await browser.evaluate(`document.documentElement.style.scrollbarWidth = 'none'`);
  const bottom = `Math.ceil(document.querySelector('.time-line').getBoundingClientRect().bottom)`;
  await browser.resize(widthPx, await browser.evaluate<number>(bottom));
  for (const scheme of ['light', 'dark'] as const) {
    await browser.prefer(scheme);
    const file = join(folder, `readme-${scheme}.png`);
    await sharp(await browser.screenshot())
      .png({ palette: true })
      .toFile(file);
    t.diagnostic(`the picture of README: ${file}`);
  }
  assert.deepEqual(browser.problems, []);
});
