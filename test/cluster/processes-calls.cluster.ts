/** Calls of several processes: the coordinator issues them and has their media, whoever is asked. Source: cluster.md, Several processes on one machine. */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { after, describe, test } from 'node:test';
import { DeviceLeg } from '../../src/tools/simulator/media-leg.ts';
import type { ApiAnswer, ApiClient } from '../support/api-client.ts';
import { callBody, callStatus, issuance } from '../support/call-actions.ts';
import { ProcessSite } from '../support/cluster-processes.ts';
import { siteDevice } from '../support/cluster-site.ts';
import { withMedia } from '../support/server-process.ts';

const site = await ProcessSite.start({ after }, 2, { overrides: withMedia });

/** With all workers: the kernel spreads them. */
function everywhere(): ApiClient[] {
  return Array.from({ length: 16 }, () => site.api());
}

function issue(api: ApiClient, device_id: string, change: object = {}): Promise<ApiAnswer> {
  return api.call({ ...issuance, body: JSON.stringify(callBody({ device_id, ...change })) });
}

async function statesOf(device_id: string): Promise<unknown[]> {
  const query = `device_id=${device_id}`;
  const answers = await Promise.all(everywhere().map((api) => api.call({ ...callStatus, query })));
  for (const { json, text } of answers) assert.equal(json.code, 0, text);
  return Array.from(new Set(answers.map(({ json }) => json.data?.['in_call'])));
}

/** What is committed at one worker is seen at the others a moment later. */
async function allSay(device: string, isInCall: boolean): Promise<void> {
  for (const endMs = performance.now() + 5000; ;) {
    const said = await statesOf(device);
    if (said.length === 1 && said[0] === isInCall) return;
    assert.ok(performance.now() < endMs, `they say ${said.join(' and ')}`);
  }
}

describe('several processes', { timeout: 120_000 }, () => {
  test('issue the same call through each of them, and all say when the device is in it', async () => {
    const device = siteDevice(1);
    const peers = new Set<unknown>();
    let token = '';
    for (const api of everywhere()) {
      const { json, text } = await issue(api, device);
      assert.equal(json.code, 0, text);
      peers.add(json.data?.['peer_id']);
      token = String(json.data?.['token']);
    }
    assert.equal(peers.size, 1, 'the same room is the same session');
    assert.deepEqual(await statesOf(device), [false]);
    const url = `ws://127.0.0.1:${site.server.ports.media}`;
    const leg = await DeviceLeg.connect({ url, token });
    await allSay(device, true);
    for (const api of everywhere().slice(0, 4)) {
      const { status, json } = await issue(api, device, { screen_width: 320 });
      assert.deepEqual([status, json.code], [200, 40903]);
    }
    leg.hangup();
    await leg.closed;
    await allSay(device, false);
  });

  test('answer a replayed issuance like the first, whoever is asked, and open no other call for it', async () => {
    const body = JSON.stringify(callBody({ device_id: siteDevice(2) }));
    const signed = { ...issuance, body, atMs: Date.now() };
    const said = async (): Promise<unknown[]> =>
      Promise.all(everywhere().map(async (api) => (await api.call(signed)).json));
    const [first, ...more] = (await said()) as [ApiAnswer['json'], ...unknown[]];
    assert.equal(first.code, 0);
    for (const answer of more) assert.deepEqual(answer, first);
    const url = `ws://127.0.0.1:${site.server.ports.media}`;
    const leg = await DeviceLeg.connect({ url, token: String(first.data?.['token']) });
    leg.hangup();
    await leg.closed;
    for (const answer of await said()) assert.equal((answer as ApiAnswer['json']).code, 40903);
  });

  test('refuse a device that is none, and a body that is none, at each of them', async () => {
    for (const api of everywhere()) {
      assert.equal((await issue(api, 'NOSUCHDEVICE')).json.code, 40403);
      assert.equal((await issue(api, siteDevice(1), { audio_channels: 7 })).json.code, 40003);
    }
  });

  test('go on saying who is in a call while there is no coordinator, and issue when it is back', async () => {
    const apis = everywhere();
    const pid = await site.pid(0);
    process.kill(pid, 'SIGKILL');
    const asked = apis.map((api, index) => issue(api, siteDevice(10 + index)));
    await allSay(siteDevice(1), false);
    for (const { json, text } of await Promise.all(asked))
      assert.ok(json.code === 0 || json.code === 50301, text);
    await site.replaced(0, pid, 20_000);
    const backMs = performance.now();
    for (const [index, api] of apis.entries()) {
      while ((await issue(api, siteDevice(10 + index))).json.code !== 0) await wait(20);
      assert.ok(
        performance.now() - backMs < 2000,
        `issued ${performance.now() - backMs} ms after its return`,
      );
    }
  });
});
