/**
 * A server with edges as real processes. The kernel chooses the edge of a connection, so the tests ask which edge has it.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, test } from 'node:test';
import { LoginRefused, SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { runCli } from '../support/cli-process.ts';
import { EdgesSite } from '../support/edges-site.ts';
import type { PublishedEvent } from '../support/event-log-check.ts';
import { EventReader, readEvents, readLog } from '../support/event-reader.ts';
import { serveArguments } from '../support/server-process.ts';
import { hasCode, isAsleep, secretOf, siteDevice, until, wake } from '../support/site-server.ts';
import { lastFirst, temporaryDirectory } from '../support/temporary-store.ts';
import { certificateShown, noOpenssl, TestCertificate } from '../support/test-certificate.ts';

const devices = 24;
const ending = lastFirst({ after });
const site = await EdgesSite.open(ending, { edges: 2, devices });

/** Logs in every device without a sleep session. Resolves when the store has the logins. */
async function sleep(modules: Map<number, SleepingModule>): Promise<void> {
  const awake = Array.from({ length: devices }, (_, device) => device).filter(
    (device) => !modules.has(device),
  );
  // Concurrently: the kernel balances them over the edges.
  await Promise.all(
    awake.map(async (device) => {
      const module = await site.module(device);
      modules.set(device, module);
      void module.closed.then(() => modules.get(device) === module && modules.delete(device));
    }),
  );
  for (const device of modules.keys()) await until(() => site.api.connectivity(siteDevice(device)), isAsleep);
}

async function wakes(modules: ReadonlyMap<number, SleepingModule>): Promise<void> {
  for (const [device, module] of modules) {
    await until(() => wake(site.api, device), hasCode(0));
    assert.equal((await module.nextPacket()).length, 8);
  }
}

/** Name of the edge with the most sessions. */
async function fullest(): Promise<string> {
  return (await sessionsOf('edge-0')) > (await sessionsOf('edge-1')) ? 'edge-0' : 'edge-1';
}

async function sessionsOf(name: string): Promise<number> {
  return (await site.process(name)).sleep_sessions ?? 0;
}

function isOfSleep({ type }: PublishedEvent): boolean {
  return type.startsWith('device.sleep');
}

const modules = new Map<number, SleepingModule>();

test('a server with edges logs ready once, and shows its processes', async () => {
  const ready = site.server.command.lines.filter((line) => line.includes('"msg":"ready"'));
  assert.deepEqual(
    ready.map((line) => (JSON.parse(line) as { edges: number }).edges),
    [2],
  );
  const processes = await site.processes();
  assert.deepEqual(
    processes.map(({ name, kind, state, restarts }) => [name, kind, state, restarts]),
    [
      ['core', 'core', 'up', 0],
      ['edge-0', 'edge', 'up', 0],
      ['edge-1', 'edge', 'up', 0],
    ],
  );
  assert.equal(new Set([site.pid, ...processes.map(({ pid }) => pid)]).size, 4);
  assert.match(
    await site.cli('status', '--site'),
    /^core +up +\d+ .*\nedge-0 +up +\d+ .*\nedge-1 +up +\d+ /m,
  );
});

test('a device at an edge is queried and woken like any other', async () => {
  await sleep(modules);
  assert.equal((await sessionsOf('edge-0')) + (await sessionsOf('edge-1')), devices);
  assert.equal(await sessionsOf('core'), 0);
  await wakes(modules);
  const answer = await site.api.wake({ device_id: siteDevice(0), custom_data: '0x12ab' });
  assert.equal(answer.status, 202, answer.text);
  assert.equal((await modules.get(0)?.nextPacket())?.toString('hex'), '983b16f8f39c12ab');
  modules.get(1)?.heartbeat();
  await until(
    () => site.api.connectivity(siteDevice(1)),
    ({ json }) =>
      typeof (json.data as { sleep: { last_heartbeat_at: number | null } }).sleep.last_heartbeat_at ===
      'number',
  );
});

test('the metrics count the sessions, connections and logins at the edges', async () => {
  // Edges report them a few times a second.
  await site.metrics((text) =>
    [
      'reveille_sleep_sessions',
      'reveille_connections{listener="sleep"}',
      'reveille_sleep_logins_total{result="accepted"}',
    ].every((name) => text.includes(`\n${name} ${devices}\n`)),
  );
});

test('a login refused at an edge has a reason for operators, and one word for the device', async () => {
  const refused = (deviceId: string): Promise<void> =>
    assert.rejects(
      SleepingModule.connect(site.ports.sleep, { deviceId, secret: 'another secret' }),
      new LoginRefused('denied'),
    );
  await refused(siteDevice(0));
  await refused('NOBODY');
  const rows = await site.cli('refused');
  assert.match(rows, /^NOBODY +sleep +unknown +1 .* 127\.0\.0\.1 +-$/m);
  assert.match(rows, new RegExp(`^${siteDevice(0)} +sleep +wrong_mac +1 `, 'm'));
  assert.match(await site.cli('status', siteDevice(0)), / sleep +wrong_mac +1 time from 127\.0\.0\.1 /);
  await site.metrics((text) => text.includes('\nreveille_refused_logins_total{reason="unknown"} 1\n'));
});

test('a killed edge ends its own sessions as node_lost, each once, and is replaced', async () => {
  const name = await fullest();
  const lost = await sessionsOf(name);
  const { pid } = await site.process(name);
  const reader = await EventReader.fromNow(site.api);
  process.kill(pid, 'SIGKILL');
  const ends = await reader.next(lost);
  assert.deepEqual(
    ends.map(({ type, data }) => `${type} ${String(data['reason'])}`),
    ends.map(() => 'device.sleep.offline node_lost'),
  );
  assert.equal(new Set(ends.map(({ device_id: id }) => id)).size, lost);
  assert.equal(modules.size, devices - lost);
  await wakes(modules);
  await site.replaced(name, pid);
  assert.equal((await site.process(name)).restarts, 1);
  assert.deepEqual(
    await reader.rest().then((rest) => rest.filter(({ type }) => type.includes('offline'))),
    [],
  );
  await sleep(modules);
  await wakes(modules);
});

test('a wakeup to an edge that hangs is answered 50402, and the edge is replaced', async () => {
  const name = await fullest();
  const { pid } = await site.process(name);
  process.kill(pid, 'SIGSTOP');
  const answers = await Promise.all([...modules.keys()].map((device) => wake(site.api, device)));
  assert.ok(answers.some(({ json }) => json.code === 50402));
  assert.ok(answers.every(({ json }) => json.code === 50402 || json.code === 0));
  await site.replaced(name, pid);
  await sleep(modules);
});

test('a controller of a killed core has its offline event before the next core serves', async () => {
  const { next } = await readEvents(site.api, 'latest', 1);
  const controller = await site.controller(0);
  const { pid } = await site.process('core');
  process.kill(pid, 'SIGKILL');
  await Promise.all([controller.closed, site.replaced('core', pid)]);
  const told = await readLog(site.newApi(), next);
  assert.deepEqual(
    told
      .filter(({ type }) => type.startsWith('device.signal'))
      .map(({ type, data }) => [type, data['reason']]),
    [
      ['device.signal.online', undefined],
      ['device.signal.offline', 'node_lost'],
    ],
  );
});

test('sessions that no edge resumes at the next core end as node_lost, unless their device is back', async () => {
  const { next } = await readEvents(site.api, 'latest', 1);
  const names = ['core', 'edge-0', 'edge-1'];
  const before = await Promise.all(names.map((name) => site.process(name)));
  for (const { pid } of before) process.kill(pid, 'SIGKILL');
  await Promise.all(before.map(({ name, pid }) => site.replaced(name, pid)));
  const back = await site.module(0);
  const reader = new EventReader(site.api, next);
  const told: PublishedEvent[] = [];
  while (told.length < devices) told.push(...(await reader.next(1)).filter(isOfSleep));
  assert.deepEqual(
    told
      .filter(({ device_id: id }) => id === siteDevice(0))
      .map(({ type, data }) => [type, data['replaced']]),
    [['device.sleep.login', true]],
  );
  const lost = told.filter(({ data }) => data['reason'] === 'node_lost').map(({ device_id: id }) => id);
  assert.equal(new Set(lost).size, devices - 1);
  modules.set(0, back);
  await wakes(new Map([[0, back]]));
});

test('a stop ends every session in order, and leaves neither a process nor a socket', async () => {
  assert.equal(await site.stop(), 0);
  await Promise.all([...modules.values()].map(({ closed }) => closed));
  await site.allExited();
  assert.deepEqual(
    readdirSync(site.directory).filter(
      (name) => /^edges-|runtime|lock$/.test(name) && !name.endsWith('mdb-lock'),
    ),
    [],
  );
});

test(
  'SIGHUP reloads the certificate of the edges, and a killed supervisor ends all processes',
  { skip: noOpenssl },
  async (t) => {
    const certificate = new TestCertificate(temporaryDirectory(t));
    certificate.use('before');
    const settings = certificate.overrides('sleep');
    const other = await EdgesSite.open(t, { edges: 1, devices: 1, settings });
    assert.equal(await certificateShown(other.ports.sleep), 'before');
    certificate.use('after');
    process.kill(other.pid, 'SIGHUP');
    await other.server.command.logged('reloaded');
    assert.equal(await certificateShown(other.ports.sleep), 'after');
    const device = { deviceId: siteDevice(0), secret: secretOf(siteDevice(0)) };
    const module = await SleepingModule.connect(other.ports.sleep, {
      ...device,
      tls: { rejectUnauthorized: false },
    });
    await other.kill();
    await module.closed;
    await other.allExited();
  },
);

test('the option for workers is refused with a hint on edges, and a media process has no edges', async () => {
  const data = ['data.dir=/nonexistent'];
  for (const [options, sentence] of [
    [['--processes', '2'], /--processes was removed: use --edges N/],
    [['--edges', '2', '--only', 'media'], /serve --only media has no sleep connections/],
    [['--edges', '65'], /sleep\.edges: .*64/],
  ] as const) {
    const { exitCode, stderr } = await runCli([...serveArguments(data), ...options]);
    assert.equal(exitCode, 2, stderr);
    assert.match(stderr, sentence);
  }
});

test('a second SIGTERM ends a server with edges at once, even if its core hangs', async (t) => {
  const other = await EdgesSite.open(t, { edges: 1, devices: 1 });
  const module = await other.module(0);
  process.kill((await other.process('core')).pid, 'SIGSTOP');
  process.kill(other.pid, 'SIGTERM');
  await other.server.command.logged('stopping');
  assert.equal(await other.server.command.stop('SIGTERM'), 143);
  await module.closed;
  await other.allExited();
});
