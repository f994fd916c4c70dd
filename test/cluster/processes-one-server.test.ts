/**
 * Several processes behind the same ports are one server: who is asked and who has the device makes no difference. Which
 * process a connection is with is the kernel's choice: sixteen connections are with all of them.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { OpsClient } from '../../src/cli/admin/ops-client.ts';
import type { DeviceListJson } from '../../src/gateways/admin/device-list-route.ts';
import { findOpsToken } from '../../src/gateways/ops/ops-token.ts';
import type { FiguresJson } from '../../src/telemetry/figure-history.ts';
import type { SignalController } from '../../src/tools/simulator/signal-controller.ts';
import type { ApiAnswer, ApiClient } from '../support/api-client.ts';
import { runCli } from '../support/cli-process.ts';
import { ProcessSite } from '../support/cluster-processes.ts';
import { readEvents } from '../support/crash-load.ts';
import { EventReader } from '../support/event-reader.ts';
import { hasCode, siteAppId, siteDevice, until, wake } from '../support/site-server.ts';
import { lastFirst } from '../support/temporary-store.ts';
import { receiverSecret, WebhookReceiver } from '../support/webhook-receiver.ts';
import { hangMsMax } from '../support/hang-limit.ts';
import { oneServerSuite } from './one-server.ts';

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

interface RegistryFile {
  credentials: object[];
  devices: { device_id: string }[];
}

const ending = lastFirst({ after });
const receiver = await WebhookReceiver.start(ending);
const webhooks = [{ app_id: siteAppId, url: receiver.url, secret: receiverSecret, types: ['*'] }];
const site = await ProcessSite.open(ending, 2, { webhooks, overrides: ['webhooks.allow_local=true'] });

test('several processes say once that they are ready, with real ports, and each line of the log says whose it is', async () => {
  const { command, ports } = site.server;
  assert.equal(command.lines.filter((line) => line.includes('"msg":"ready"')).length, 1);
  assert.ok(ports.api > 0 && ports.sleep > 0 && ports.signal > 0 && ports.ops > 0);
  const said = command.lines.map((line) => JSON.parse(line) as { process?: number });
  assert.deepEqual(new Set(said.map(({ process }) => process)), new Set([undefined, 0, 1, 2]));
  const members = await site.members();
  assert.deepEqual(
    members.map(({ process, role, state }) => [process, role, state]),
    [
      [0, 'coordinator', 'up'],
      [1, 'worker', 'up'],
      [2, 'worker', 'up'],
    ],
  );
});

test('several processes deliver each event to a webhook once', async () => {
  const modules = await Promise.all(range(32).map((number) => site.module(number)));
  assert.equal(sum((await site.members()).map((member) => member.sleep_sessions ?? 0)), 32);
  for (const module of modules) await module.close();
  await receiver.until(64);
  const last = await site.module(40);
  const isLast = (): boolean => receiver.received.some(({ body }) => body.includes(siteDevice(40)));
  while (!isLast()) await receiver.until(receiver.received.length + 1);
  await last.close();
  const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
  assert.equal(new Set(ids).size, ids.length);
});

const apis = site.everywhere();
oneServerSuite(
  'processes',
  {
    registryFile: site.registryFile,
    everywhere: () => apis,
    module: (number) => site.module(number),
    controller: (number) => site.controller(number),
    cli: (...command) => site.cli(...command),
  },
  50,
);

/** Of each worker. */
async function signalSessions(): Promise<number[]> {
  return (await site.members()).slice(1).map((member) => member.signal_sessions ?? 0);
}

/** Logs the device in until another worker than before has it. */
async function loginElsewhere(number: number, held: readonly number[]): Promise<SignalController> {
  for (;;) {
    const controller = await site.controller(number);
    if ((await signalSessions()).join() !== held.join()) return controller;
  }
}

test('a process takes a controller over from another, which closes its own as replaced', async () => {
  const reader = await EventReader.fromNow(site.api);
  const first = await site.controller(1);
  const held = await signalSessions();
  assert.equal(sum(held), 1);
  const second = await loginElsewhere(1, held);
  assert.deepEqual(await first.closed, { code: 4409, reason: 'replaced' });
  const body = JSON.stringify({ device_id: siteDevice(1), name: 'ring', payload: {} });
  const said = await site.api.call({ method: 'POST', path: '/v1/device/message', body });
  assert.equal(said.json.code, 0, said.text);
  await second.nextMessage();
  await second.bye('asleep');
  const isOurs = ({ device_id }: { device_id: string }): boolean => device_id === siteDevice(1);
  const told = await reader.until((event) => isOurs(event) && event.type === 'device.signal.offline');
  const ours = told.filter(isOurs);
  const from = ours[0]?.seq ?? 0;
  assert.deepEqual(
    ours.map(({ seq, type, data }) => [seq - from, type, data['replaced'] ?? null]),
    [
      [0, 'device.signal.online', false],
      ...range(ours.length - 2).map((index) => [index + 1, 'device.signal.online', true]),
      [ours.length - 1, 'device.signal.offline', null],
    ],
  );
  assert.deepEqual(await signalSessions(), [0, 0]);
});

test('processes replace a session of a device wherever it was, and tell it once', async () => {
  const reader = await EventReader.fromNow(site.api);
  const first = await site.module(2);
  await reader.take(1);
  const second = await site.module(2);
  await first.closed;
  const [told] = await reader.take(1);
  assert.deepEqual([told?.type, told?.data['replaced']], ['device.sleep.login', true]);
  const woken = await wake(site.api, 2);
  assert.equal(woken.status, 202, woken.text);
  await second.nextPacket();
  const rest = await reader.rest();
  assert.deepEqual(
    rest.filter(({ type }) => type.startsWith('device.sleep')),
    [],
  );
});

test('each process tells of a heartbeat that another has heard, and asks nobody', async () => {
  const module = await site.module(5);
  await site.committed(5);
  module.heartbeat();
  const asks = (): Promise<number> => site.metric('reveille_peer_asks_total');
  for (const api of apis) await until(() => api.connectivity(siteDevice(5)), hasHeartbeat);
  // Those that operators cause are as many each time.
  const counts = [await asks(), await asks()] as const;
  const body = JSON.stringify({ device_ids: [siteDevice(5)] });
  for (const api of apis) {
    assert.ok(hasHeartbeat(await api.connectivity(siteDevice(5))));
    await api.call({ method: 'POST', path: '/v1/devices/connectivity', body });
  }
  assert.equal((await asks()) - counts[1], counts[1] - counts[0]);
  await module.close();
});

function hasHeartbeat({ json }: ApiAnswer): boolean {
  const { sleep } = json.data as { readonly sleep: { readonly last_heartbeat_at: number | null } };
  return sleep.last_heartbeat_at !== null;
}

test('each process answers who waits for events as soon as another has one', async () => {
  const { next: latest } = await readEvents(site.api, 'latest', 1);
  const seen = apis.map(async (api) => {
    await new EventReader(api, latest).until(({ type }) => type === 'device.sleep.login');
  });
  await wait(300);
  await site.module(4);
  await Promise.all(seen);
});

test('all processes know a registry file that was changed', async () => {
  const registry = JSON.parse(readFileSync(site.registryFile, 'utf8')) as RegistryFile;
  const other = { appId: siteAppId, accessKeyId: 'AKOTHER', secretKey: 'another-secret-of-a-backend' };
  const [own] = registry.credentials;
  const ask = (api: ApiClient): Promise<ApiAnswer> => api.connectivity('NEWDEVICE');
  for (const api of apis) assert.equal((await ask(api)).json.code, 40403);
  registry.credentials.push({ ...own, access_key_id: other.accessKeyId, secret_key: other.secretKey });
  registry.devices.push({ ...registry.devices[0], device_id: 'NEWDEVICE' });
  writeFileSync(site.registryFile, JSON.stringify(registry));
  const imports = site.server.command.lines.filter((line) => line.includes('"registry imported"')).length;
  process.kill(site.pid, 'SIGHUP');
  await site.server.command.logged('registry imported', imports + 1);
  await Promise.all(apis.map((api) => until(() => ask(api), hasCode(0))));
  for (const api of apis)
    assert.equal((await api.connectivity('NEWDEVICE', { credential: other })).json.code, 0);
});

test('operators see and wake what any process has, and have the figures of each', async () => {
  const ops = new OpsClient(`http://127.0.0.1:${site.server.ports.ops}`, findOpsToken(site.directory) ?? '');
  const numbers = range(8).map((number) => 70 + number);
  const modules = await Promise.all(numbers.map((number) => site.module(number)));
  const asleep = new URLSearchParams({ prefix: siteDevice(70).slice(0, -1), state: 'asleep', limit: '200' });
  const listed = async (): Promise<readonly string[]> =>
    (await ops.ask<DeviceListJson>('/v1/device/list', asleep)).devices.map(({ device_id: id }) => id);
  // A login is told once it is committed.
  const endMs = performance.now() + hangMsMax;
  const isWhole = (ids: readonly string[]): boolean =>
    numbers.every((number) => ids.includes(siteDevice(number)));
  while (!isWhole(await listed())) {
    assert.ok(performance.now() < endMs, 'the logins are told');
    await wait(25);
  }
  for (const [at, number] of numbers.entries()) {
    const device_id = siteDevice(number);
    await ops.change('/v1/device/wake', { device_id });
    await modules[at]?.nextPacket();
  }
  await Promise.all(modules.map((module) => module.close()));
  const { series } = await ops.ask<FiguresJson>('/v1/figures');
  for (const process of [0, 1, 2])
    assert.ok(series[`memory_bytes.${process}`]?.some((bytes) => bytes !== null));
});

test('processes are shown by the command line, which fails when one is not up', async () => {
  const command = ['cluster', 'status', '--data-dir', site.directory];
  const shown = await runCli(command);
  assert.equal(shown.exitCode, 0, shown.stderr);
  assert.match(shown.stdout, /coordinator +up/);
  assert.match(shown.stdout, /worker +up/);
  const json = JSON.parse((await runCli([...command, '--json'])).stdout) as { members: unknown[] };
  assert.equal(json.members.length, 3);
  const pid = await site.pidOf(1);
  process.kill(pid, 'SIGSTOP');
  const failing = await runCli(command);
  assert.equal(failing.exitCode, 1, failing.stdout);
  // One that is stopped outlives its supervisor: not the test.
  await site.replaced(1, pid);
});
