/** Searches over all devices of a registry, as in the console and the ops API; the floor is a scan of the ids alone. */
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { OpsClient } from '../../src/cli/admin/ops-client.ts';
import type { DeviceListJson } from '../../src/gateways/admin/device-list-route.ts';
import { findOpsToken } from '../../src/gateways/ops/ops-token.ts';
import { openStore } from '../../src/storage/lmdb/open-store.ts';
import { putConnectionRecord } from '../../src/storage/records/connection-rows.ts';
import { importInWorker } from '../../src/storage/registry/registry-thread.ts';
import { atMost, ratioTo, type Benchmark, type Measurement } from '../harness/benchmark.ts';
import { LatencyRecorder } from '../harness/latency.ts';
import { startReveille, type ReveilleServer } from '../harness/servers.ts';
import type { Trouble } from '../harness/trouble.ts';
import { logIn, startPlayers } from '../load/players.ts';
import { deviceIdentity, deviceIdOf } from '../load/population.ts';

const plans = {
  full: { devices: 1_000_000, asleep: 18_000, times: 20 },
  smoke: { devices: 2000, asleep: 50, times: 2 },
};
type Plan = (typeof plans)['full'];

const floor = 'plain scan of the ids';
const atStart = 'first of all';
const afterwards = 'first, the list open before';
const mebibyte = 1024 * 1024;
/** CPU share below which the index counts as read: reading takes 0.4, the probe 0.04. */
const idleShare = 0.1;
const idleMs = 1000;

interface Search {
  readonly query: Readonly<Record<string, string>>;
  readonly count: number;
}

function first({ devices }: Plan): Search {
  return {
    query: {
      contains: deviceIdOf(devices - 1)
        .slice(1)
        .toLowerCase(),
    },
    count: 1,
  };
}

/** The query of the console when it opens its list. */
const everyDevice: Search = { query: {}, count: 50 };

function searchesOf(plan: Plan): Readonly<Record<string, Search>> {
  return {
    'by id': first(plan),
    'by label': { query: { label: 'entrance=north' }, count: 1 },
    'by product': { query: { product_id: 'chime' }, count: 1 },
    'by state: never': { query: { state: 'never' }, count: 1 },
    'by state: online': { query: { state: 'online' }, count: 0 },
    'by all of them': {
      query: { contains: 'device', label: 'floor', product_id: 'chime', state: 'never' },
      count: 1,
    },
  };
}

async function measure({ scale, runs, samples, trouble }: Measurement): Promise<void> {
  const plan = plans[scale];
  const directory = mkdtempSync(join(tmpdir(), 'reveille-bench-searches-'));
  const remove = (): void => rmSync(directory, { recursive: true, force: true });
  process.once('exit', remove);
  const state = join(directory, 'state');
  const rows = { plan, trouble, add: (row: string, metrics: Metrics) => samples.add(row, metrics) };
  try {
    await fillStore(state, plan, trouble);
    for (let run = 0; run < runs; run += 1) {
      samples.add(floor, scan(plan));
      const bareBytes = await measureBare();
      await withServer(state, async (server) =>
        rows.add(atStart, await ask(server, first(plan), 1, trouble)),
      );
      await withServer(state, (server) => measureSearches(server, rows, bareBytes));
    }
  } finally {
    process.off('exit', remove);
    remove();
  }
}

type Metrics = Readonly<Record<string, number>>;

interface Rows {
  readonly plan: Plan;
  readonly trouble: Trouble;
  add(row: string, metrics: Metrics): void;
}

async function withServer(
  dataDirectory: string,
  use: (server: ReveilleServer) => Promise<void>,
): Promise<void> {
  const server = await startReveille({ devices: 0, env: { REVEILLE_DATA_DIR: dataDirectory } });
  try {
    await use({ ...server, dataDirectory });
  } finally {
    await server.stop();
  }
}

async function measureBare(): Promise<number> {
  const server = await startReveille({ devices: 1 });
  try {
    return (await server.child.probe.ask('memory', null)).liveBytes;
  } finally {
    await server.stop();
  }
}

async function measureSearches(server: ReveilleServer, rows: Rows, bareBytes: number): Promise<void> {
  const { plan, trouble } = rows;
  await ask(server, everyDevice, 1, trouble);
  await untilIdle(server);
  const { liveBytes } = await server.child.probe.ask('memory', null);
  const memory = (liveBytes - bareBytes) / mebibyte;
  rows.add(afterwards, { ...(await ask(server, first(plan), 1, trouble)), memory });
  const players = startPlayers();
  try {
    await logIn(players, { port: server.devicePort, dialect: 'reveille', count: plan.asleep }, trouble);
    for (const [kind, search] of Object.entries(searchesOf(plan)))
      rows.add(kind, await ask(server, search, plan.times, trouble));
  } finally {
    await players.stop();
  }
}

async function ask(
  { child: { probe }, opsPort, dataDirectory }: ReveilleServer,
  { query, count }: Search,
  times: number,
  trouble: Trouble,
): Promise<Metrics> {
  const ops = new OpsClient(`http://127.0.0.1:${opsPort}`, findOpsToken(dataDirectory) ?? '');
  const latency = new LatencyRecorder();
  await probe.ask('reset', null);
  for (let time = 0; time < times; time += 1) {
    const startMs = performance.now();
    const { devices: found } = await ops.ask<DeviceListJson>('/v1/device/list', query);
    latency.add(performance.now() - startMs);
    if (found.length !== count)
      trouble.add(`${JSON.stringify(query)}: ${found.length} devices in place of ${count}`);
  }
  const { loopDelayMs } = await probe.ask('read', null);
  const { p50Ms, maxMs } = latency.read();
  return { p50: p50Ms, max: maxMs, stall: loopDelayMs.max };
}

async function untilIdle({ child: { probe } }: ReveilleServer): Promise<void> {
  for (let share = 1; share > idleShare;) {
    await probe.ask('reset', null);
    await sleep(idleMs);
    const { mainCpuSeconds, wallSeconds } = await probe.ask('read', null);
    share = mainCpuSeconds / wallSeconds;
  }
}

function scan({ devices, times }: Plan): Metrics {
  const ids = Array.from({ length: devices }, (_, number) => deviceIdOf(number));
  const part = ids.at(-1)?.slice(1).toLowerCase() ?? '';
  const latency = new LatencyRecorder();
  for (let time = 0; time < times; time += 1) {
    const startMs = performance.now();
    const found = ids.filter((id) => id.toLowerCase().includes(part));
    latency.add(performance.now() - startMs);
    if (found.length !== 1) throw new Error('the scan has found another number of devices than one');
  }
  const { p50Ms, maxMs } = latency.read();
  return { p50: p50Ms, max: maxMs };
}

async function fillStore(state: string, { devices }: Plan, trouble: Trouble): Promise<void> {
  const store = openStore(state);
  const file = `${state}.ndjson`;
  writeRegistry(file, devices);
  const imported = await importInWorker(store.directory, { file, replace: false, skipUnchanged: true });
  if (!imported.ok) trouble.add(imported.error.message);
  const record = { epoch: 1, lastLoginAt: 1, lastHeartbeatAt: null, lastOfflineAt: 1, openSession: null };
  for (let start = 0; start < devices; start += batchRecords)
    await store.state.environment.transaction(() => {
      const end = Math.min(start + batchRecords, devices - 1);
      for (let number = start; number < end; number += 1)
        putConnectionRecord(store.state.connections.sleep, deviceIdOf(number), record);
    });
  await store.close();
}

const batchRecords = 20_000;

/** One device a line; each has two labels. */
function writeRegistry(file: string, devices: number): void {
  const line = (entry: object): string => `${JSON.stringify(entry)}\n`;
  const descriptor = openSync(file, 'w');
  let text = line({ kind: 'application', app_id: '2818153', name: 'bench' });
  for (const product_id of ['doorbell', 'chime'])
    text += line({ kind: 'product', product_id, app_ids: ['2818153'] });
  for (let number = 0; number < devices; number += 1) {
    const isLast = number === devices - 1;
    const { deviceId: device_id, secret } = deviceIdentity(number);
    const labels = {
      site: `building ${number % 5000}`,
      floor: `${number % 30}`,
      ...(isLast && { entrance: 'north' }),
    };
    text += line({ kind: 'device', device_id, product_id: isLast ? 'chime' : 'doorbell', secret, labels });
    if (text.length < 1_000_000 && !isLast) continue;
    writeSync(descriptor, text);
    text = '';
  }
  closeSync(descriptor);
}

const { devices, asleep, times } = plans.full;
const inTime = { metric: 'p50', unit: 'ms', compared: { kind: 'alone' }, bound: atMost(300) } as const;
const kinds = Object.keys(searchesOf(plans.full)).filter((kind) => kind.startsWith('by '));

export const searches: Benchmark = {
  title: 'Searches among a million devices',
  runs: 1,
  notes: [
    `${devices.toLocaleString('en-US')} devices with two labels each, in an LMDB registry, ${asleep.toLocaleString('en-US')} of them asleep. Each search looks at all ` +
      `devices and finds the last one, or none; ${times} of each kind, one at a time. Floor: the ids alone, in an array of this process.`,
    'First: on a server without earlier device queries; and on one whose device list was opened, and which has read the devices since.',
    'Event loop: the longest time between two turns of a 1 ms timer in the server, about 1.1 ms when idle. Memory: of ' +
      'V8’s heap and buffers once all devices are read, in excess of a server with a single device.',
  ],
  columns: [
    { metric: 'p50', title: 'p50 ms', digits: 1 },
    { metric: 'max', title: 'longest ms', digits: 1 },
    { metric: 'stall', title: 'event loop stall ms', digits: 1 },
    { metric: 'memory', title: 'memory MiB', digits: 0 },
  ],
  targets: [
    { ...inTime, what: `First search of all, ${devices.toLocaleString('en-US')} devices`, row: atStart },
    { ...inTime, what: '… with the list of devices open before', row: afterwards },
    ...kinds.map((kind) => ({ ...inTime, what: `Search ${kind}`, row: kind })),
    {
      what: 'Search by id, against a scan of the ids',
      row: 'by id',
      metric: 'p50',
      unit: 'ms',
      compared: ratioTo(floor),
      bound: atMost(2),
    },
    ...[true, false].map((isFirst) => ({
      what: `Event loop stall in ${isFirst ? 'the first search' : 'a search'}`,
      row: isFirst ? atStart : 'by all of them',
      metric: 'stall',
      unit: 'ms',
      compared: { kind: 'alone' } as const,
      bound: atMost(10),
    })),
    {
      what: 'Memory of the devices for searches',
      row: afterwards,
      metric: 'memory',
      unit: 'MiB',
      compared: { kind: 'alone' },
      bound: atMost(150),
    },
  ],
  measure,
};
