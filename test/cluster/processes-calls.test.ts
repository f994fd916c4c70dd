/** Calls of several processes: the coordinator issues them and has their media, whoever is asked. Source: cluster.md, Several processes on one machine. */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { after, test } from 'node:test';
import { BridgeLeg, DeviceLeg } from '../../src/tools/simulator/media-leg.ts';
import type { ApiAnswer, ApiClient } from '../support/api-client.ts';
import { callBody, callStatus, issuance } from '../support/call-actions.ts';
import { ProcessSite } from '../support/cluster-processes.ts';
import { withMedia } from '../support/server-process.ts';
import { siteDevice } from '../support/site-server.ts';
import { hangMsMax } from '../support/hang-limit.ts';
import { lastFirst } from '../support/temporary-store.ts';

const ending = lastFirst({ after });
const bridgeKey = 'key-of-the-bridge-of-this-test';
const site = await ProcessSite.open(ending, 2, {
  overrides: [...withMedia, `media.bridge_keys=${bridgeKey}`],
});

function issue(api: ApiClient, device_id: string, change: object = {}): Promise<ApiAnswer> {
  return api.call({ ...issuance, body: JSON.stringify(callBody({ device_id, ...change })) });
}

/** What is committed at one worker is seen at the others a moment later. */
async function allSay(device: string, isInCall: boolean): Promise<void> {
  const query = `device_id=${device}`;
  for (const endMs = performance.now() + hangMsMax; ;) {
    const answers = await Promise.all(site.everywhere().map((api) => api.call({ ...callStatus, query })));
    for (const { json, text } of answers) assert.equal(json.code, 0, text);
    const said = new Set(answers.map(({ json }) => json.data?.['in_call']));
    if (said.size === 1 && said.has(isInCall)) return;
    assert.ok(performance.now() < endMs, `they say ${[...said].join(' and ')}`);
  }
}

test('all processes say when a device is in a call, and none changes the media of it', async () => {
  const device = siteDevice(1);
  const issued = await issue(site.api, device);
  await allSay(device, false);
  const url = `ws://127.0.0.1:${site.server.ports.media}`;
  const leg = await DeviceLeg.connect({ url, token: String(issued.json.data?.['token']) });
  await allSay(device, true);
  for (const api of site.everywhere()) {
    const { status, json } = await issue(api, device, { screen_width: 320 });
    assert.deepEqual([status, json.code], [200, 40903]);
  }
  leg.hangup();
  await leg.closed;
  await allSay(device, false);
});

test('a bridge at the coordinator wakes the device of its call, whichever process that sleeps at', async () => {
  const url = `ws://127.0.0.1:${site.server.ports.media}`;
  for (const number of [61, 62, 63]) {
    const module = await site.module(number);
    await site.committed(number);
    const { json } = await issue(site.api, siteDevice(number));
    const session = new URL(String(json.data?.['peer_id'])).searchParams.get('x_session') ?? '';
    const bridge = await BridgeLeg.connect({ url, key: bridgeKey, session });
    assert.equal((await module.nextPacket()).toString('hex'), '983b16f8f39c0000');
    bridge.report('ended', 'cancelled');
    await bridge.closed;
    await module.close();
  }
});

test('every process tells devices and backends of the one media listener', async () => {
  const url = `ws://127.0.0.1:${site.server.ports.media}`;
  for (const [index, api] of site.everywhere().entries()) {
    const controller = await site.controller(20 + index);
    assert.equal(controller.welcome.mediaUrl, url);
    await controller.close();
    const { json, text } = await issue(api, siteDevice(20 + index));
    assert.equal(json.data?.['media_url'], url, text);
  }
});

test('each process refuses the call of a device that is none, and a body that is none', async () => {
  for (const api of site.everywhere()) {
    assert.equal((await issue(api, 'NOSUCHDEVICE')).json.code, 40403);
    assert.equal((await issue(api, siteDevice(1), { audio_channels: 7 })).json.code, 40003);
  }
});

test('processes go on saying who is in a call while there is no coordinator, and issue when it is back', async () => {
  const apis = site.everywhere();
  const pid = await site.pidOf(0);
  process.kill(pid, 'SIGKILL');
  const asked = apis.map((api, index) => issue(api, siteDevice(10 + index)));
  await allSay(siteDevice(1), false);
  for (const { json, text } of await Promise.all(asked))
    assert.ok(json.code === 0 || json.code === 50301, text);
  await site.replaced(0, pid);
  for (const [index, api] of apis.entries())
    while ((await issue(api, siteDevice(10 + index))).json.code !== 0) await wait(20);
});
