/** Whatever node is asked: registry, calls, messages, outcomes and the log are those of one server. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { encodeCursor } from '../../src/protocol/rest/events.ts';
import type { ApiAnswer } from '../support/api-client.ts';
import { callBody, callStatus, issuance } from '../support/call-actions.ts';
import { runCli, type CliResult } from '../support/cli-process.ts';
import { hasCode } from '../support/cluster-faults.ts';
import { ClusterSite, siteAppId, siteDevice, until, type SiteNode } from '../support/cluster-site.ts';
import { readEvents } from '../support/crash-load.ts';
import type { ToldEvent } from '../support/event-log-check.ts';
import { EventReader } from '../support/event-reader.ts';
import { startNats } from '../support/nats-server.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

const nats = await startNats({ after });
const site = await ClusterSite.start({ after }, { nats: [nats], nodes: ['a', 'b'] });
const [a, b] = [site.node(0), site.node(1)];

function post(node: SiteNode, path: string, body: object, id?: string): Promise<ApiAnswer> {
  const spoil = id === undefined ? {} : { 'X-Request-ID': id };
  return node.api.call({ method: 'POST', path, body: JSON.stringify(body), spoil });
}

test('a device that is disabled at one node is refused at the other within a second, and its session there ends', async () => {
  const deviceId = siteDevice(1);
  const module = await b.module(deviceId);
  await a.cli('device', 'disable', deviceId);
  const startedMs = performance.now();
  await module.closed;
  await until(() => b.api.connectivity(deviceId), hasCode(40403), 1000);
  assert.ok(performance.now() - startedMs < 1000);
  await assert.rejects(b.controller(deviceId));
});

test('a credential that is revoked at one node is refused at the other', async () => {
  const made = JSON.parse(await a.cli('credential', 'create', '--app', siteAppId, '--json')) as {
    credential: { access_key_id: string; secret_key: string };
  };
  const { access_key_id: accessKeyId, secret_key: secretKey } = made.credential;
  const credential = { appId: siteAppId, accessKeyId, secretKey };
  await until(() => b.api.connectivity(siteDevice(2), { credential }), hasCode(0), 2000);
  await a.cli('credential', 'revoke', accessKeyId);
  await until(() => b.api.connectivity(siteDevice(2), { credential }), hasCode(40105), 2000);
});

test('5 000 devices that are imported at one node are served by the other, and by one that starts later', async (t) => {
  const file = join(temporaryDirectory(t), 'more.json');
  const devices = Array.from({ length: 5000 }, (_, number) => ({
    device_id: `IMPORTED${number}`,
    product_id: 'doorbell',
    secret: `secret of IMPORTED${number}`,
    expires_at: null,
    disabled: false,
  }));
  await writeFile(file, JSON.stringify({ devices }));
  await a.cli('registry', 'import', file);
  const tookMs = await until(() => b.api.connectivity('IMPORTED4999'), hasCode(0), 10_000);
  t.diagnostic(`there after ${Math.round(tookMs)} ms`);
  const late = await site.add('late');
  assert.equal((await late.api.connectivity('IMPORTED4999')).json.code, 0);
  const module = await late.module('IMPORTED17');
  await until(() => post(a, '/v1/device/wakeup-request', { device_id: 'IMPORTED17' }), hasCode(0), 5000);
  assert.equal((await module.nextPacket()).length, 8);
  assert.equal(await late.stop(), 0);
});

test('what replaces the registry at one node is what the other serves: who is not in it goes, the others stay', async (t) => {
  const [gone, stays] = [siteDevice(20), siteDevice(21)];
  const modules = await Promise.all([gone, stays].map((deviceId) => b.module(deviceId)));
  const file = join(temporaryDirectory(t), 'less.json');
  const registry = JSON.parse(await readFile(site.registryFile, 'utf8')) as {
    devices: { device_id: string }[];
  };
  const devices = registry.devices.filter(({ device_id }) => device_id !== gone);
  await writeFile(file, JSON.stringify({ ...registry, devices }));
  await a.cli('registry', 'import', '--replace', file);
  await modules[0]?.closed;
  await until(() => b.api.connectivity(gone), hasCode(40403), 2000);
  await until(() => b.api.connectivity('IMPORTED1'), hasCode(40403), 2000);
  // It was disabled before, and is not in the file.
  await until(() => b.api.connectivity(siteDevice(1)), hasCode(0), 2000);
  const packet = modules[1]?.nextPacket();
  await until(() => post(a, '/v1/device/wakeup-request', { device_id: stays }), hasCode(0), 2000);
  assert.equal((await packet)?.length, 8);
});

function sessionOf({ json }: ApiAnswer): string | null {
  return new URL((json.data as { peer_id: string }).peer_id).searchParams.get('x_session');
}

test('credentials that are asked for again at another node are of the same call', async () => {
  const body = callBody({ device_id: siteDevice(4) });
  const first = await post(a, issuance.path, body);
  assert.equal(first.json.code, 0, first.text);
  const again = await post(b, issuance.path, body);
  assert.equal(again.json.code, 0, again.text);
  assert.equal(sessionOf(again), sessionOf(first));
  const statuses = await Promise.all(
    [a, b].map((node) => node.api.call({ ...callStatus, query: `device_id=${siteDevice(4)}` })),
  );
  assert.deepEqual(statuses[0]?.json.data, statuses[1]?.json.data);
});

test('credentials that are asked for at two nodes at once are of one call', async () => {
  const body = callBody({ device_id: siteDevice(12) });
  const answers = await Promise.all([a, b, a, b].map((node) => post(node, issuance.path, body)));
  for (const { json, text } of answers) assert.equal(json.code, 0, text);
  assert.equal(new Set(answers.map(sessionOf)).size, 1);
});

test('a replayed issuance is answered like the first at the other node, and opens no call at either once it has ended', async () => {
  const signed = {
    ...issuance,
    body: JSON.stringify(callBody({ device_id: siteDevice(14) })),
    atMs: Date.now(),
  };
  const first = await a.api.call(signed);
  assert.equal(first.json.code, 0, first.text);
  assert.deepEqual((await b.api.call(signed)).json, first.json);
  await a.cli('calls', 'end', sessionOf(first) ?? '');
  for (const node of [b, a, b]) {
    const late = await node.api.call(signed);
    assert.equal(late.json.code, 40903, late.text);
  }
  const next = await post(
    b,
    issuance.path,
    callBody({ device_id: siteDevice(14), msg_payload: 'signed anew' }),
  );
  assert.equal(next.json.code, 0, next.text);
  assert.notEqual(sessionOf(next), sessionOf(first));
});

test('a device whose secret is changed at one node loses what it has at the other, within a second', async (t) => {
  const deviceId = siteDevice(15);
  const [module, controller] = [await b.module(deviceId), await b.controller(deviceId)];
  const file = join(temporaryDirectory(t), 'secret.json');
  const entry = { device_id: deviceId, product_id: 'doorbell', secret: 'another secret of it' };
  await writeFile(file, JSON.stringify({ devices: [{ ...entry, expires_at: null, disabled: false }] }));
  await a.cli('registry', 'import', file);
  const importedMs = performance.now();
  await module.closed;
  assert.equal((await controller.closed).code, 4401);
  assert.ok(performance.now() - importedMs < 1000);
  await assert.rejects(b.module(deviceId));
});

test('a message reaches a controller at another node', async () => {
  const deviceId = siteDevice(5);
  const controller = await b.controller(deviceId);
  const sent = await post(a, '/v1/device/message', { device_id: deviceId, name: 'ring', payload: { n: 1 } });
  assert.equal(sent.json.code, 0, sent.text);
  await controller.close();
});

test('an outcome is waited for at another node than the one that woke; a repeat there is answered like the first', async () => {
  const deviceId = siteDevice(6);
  const module = await a.module(deviceId);
  await until(() => b.api.connectivity(deviceId), hasSlept, 5000);
  const body = { device_id: deviceId, custom_data: '0xbeef' };
  const id = 'one-request-of-two-nodes';
  const packet = module.nextPacket();
  const first = await post(a, '/v1/device/wakeup-request', body, id);
  assert.equal(first.status, 202, first.text);
  await packet;
  const waited = b.api.call({
    path: '/v1/device/wakeup-request',
    query: `request_id=${id}&wait=20`,
  });
  await wait(100);
  await module.close();
  const controller = await b.controller(deviceId);
  const outcome = await waited;
  assert.equal((outcome.json.data as { status: string }).status, 'completed', outcome.text);
  const again = await post(b, '/v1/device/wakeup-request', body, id);
  assert.deepEqual([again.status, again.json.code, again.json.data], [202, 0, first.json.data], again.text);
  await controller.close();
});

test('one X-Request-ID at two nodes at once writes one packet', async () => {
  const deviceId = siteDevice(7);
  const module = await a.module(deviceId);
  await until(() => b.api.connectivity(deviceId), hasSlept, 5000);
  const body = { device_id: deviceId };
  const answers = await Promise.all(
    [a, b].map((node) => post(node, '/v1/device/wakeup-request', body, 'twin')),
  );
  for (const answer of answers) assert.equal(answer.status, 202, answer.text);
  assert.equal((await module.nextPacket()).length, 8);
  const second = module.nextPacket().then(
    () => 'a second packet',
    () => 'closed',
  );
  await module.close();
  assert.equal(await second, 'closed');
});

const isOfThese = ({ device_id: deviceId }: ToldEvent): boolean =>
  [siteDevice(8), siteDevice(9)].includes(deviceId);

test('a cursor of one node goes on at the other, without loss or repeat', async () => {
  const reader = await EventReader.fromNow(a.api);
  const first = await b.controller(siteDevice(8));
  await reader.until((event) => event.device_id === siteDevice(8));
  const elsewhere = new EventReader(b.api, (await readEvents(a.api, 'latest', 1)).next);
  await first.close();
  const second = await a.controller(siteDevice(9));
  // Devices of the tests before may still be going; and which node's event is first in the log, nobody says.
  const ofThese = async (from: EventReader): Promise<ToldEvent[]> => {
    const taken = [];
    while (taken.length < 2) taken.push(...(await from.take(1)).filter(isOfThese));
    return taken;
  };
  const taken = await ofThese(elsewhere);
  assert.deepEqual(taken.map(({ type }) => type).toSorted(), [
    'device.signal.offline',
    'device.signal.online',
  ]);
  assert.deepEqual(taken, await ofThese(reader));
  await second.close();
});

test('a cursor ahead of what all nodes share is truncated, at whichever of them', async () => {
  for (const node of [a, b]) {
    const query = `after=${encodeCursor(1_000_000)}&wait=0`;
    const { json, text } = await node.api.call({ path: '/v1/events', query });
    assert.equal(json.code, 0, text);
    assert.equal(json.data?.truncated, true);
  }
});

test('a device at another node is kicked, and shown', async () => {
  const deviceId = siteDevice(10);
  const module = await b.module(deviceId);
  await until(() => a.api.connectivity(deviceId), hasSlept, 5000);
  assert.match(await a.cli('status', deviceId), /open|asleep|sleep/);
  await a.cli('device', 'kick', deviceId);
  await module.closed;
});

test('the command line shows the nodes, fails while one is not up, and forgets a lost one that is failed over', async (t) => {
  const status = (): Promise<CliResult> => runCli(['cluster', 'status', '--data-dir', a.directory]);
  const lost = await site.add('lost');
  const shown = await status();
  assert.equal(shown.exitCode, 0, shown.stdout);
  assert.match(shown.stdout, /^lost\/0 +\S+ +up /m);
  // Its end takes a while: it has somebody to send away.
  const controller = await lost.controller(siteDevice(12));
  await lost.kill();
  await controller.closed;
  const endMs = performance.now() + 20_000;
  for (let last = shown; /^lost\//m.test(last.stdout); last = await status()) {
    if (last.exitCode === 1) t.diagnostic(last.stdout);
    assert.ok(performance.now() < endMs, last.stdout);
  }
  await until(
    () => a.api.connectivity(siteDevice(12)),
    ({ text }) => text.includes('"is_online":false'),
    2000,
  );
});

test('a change that is made while NATS is away is shared when it is back', async () => {
  const deviceId = siteDevice(11);
  const module = await b.module(deviceId);
  await nats.kill();
  await a.cli('device', 'disable', deviceId);
  await nats.start();
  await module.closed;
  await until(() => b.api.connectivity(deviceId), hasCode(40403), 5000);
});

/** The node that is asked knows of the device's login. */
function hasSlept({ json }: ApiAnswer): boolean {
  const { sleep } = (json.data ?? {}) as { sleep?: { last_login_at: unknown } };
  return typeof sleep?.last_login_at === 'number';
}
