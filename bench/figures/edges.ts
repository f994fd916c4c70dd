/** The cost of edges: each kind of work with sleep connections in process, and through edges on the same core. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  atMost,
  differenceFrom,
  interleave,
  ratioTo,
  type Benchmark,
  type Measurement,
} from '../harness/benchmark.ts';
import { raisedWakeupLimits, startReveille, type ServerUnderTest } from '../harness/servers.ts';
import { SiteProcesses } from '../harness/site-processes.ts';
import type { Trouble } from '../harness/trouble.ts';
import { expectNoneLost, logIn, startPlayers, type Players } from '../load/players.ts';
import { QueryBackend } from '../load/query-backend.ts';
import { devicesOfBatch, type AskedKind } from '../load/signed-requests.ts';

/** `restSeconds`: as in memory.ts. `dates`: also the number of rooms per device, which may have at most four sessions. */
const plans = {
  full: {
    edges: [0, 1, 2, 4, 8],
    sessions: 15_000,
    dates: 4,
    restSeconds: 6,
    heartbeatSeconds: 5,
    oneByOne: 2000,
    ratePerSecond: 3000,
    wakeSeconds: 10,
    querySeconds: 4,
  },
  smoke: {
    edges: [0, 2],
    sessions: 200,
    dates: 4,
    restSeconds: 0,
    heartbeatSeconds: 1,
    oneByOne: 20,
    ratePerSecond: 200,
    wakeSeconds: 0.5,
    querySeconds: 0.3,
  },
};
type Plan = (typeof plans)['full'];

const warmUpShare = 0.2;
const wakeConnections = 64;

const inProcess = 'in process';
const rowOf = (edges: number): string => (edges === 0 ? inProcess : `${edges} edge${edges === 1 ? '' : 's'}`);

interface Site {
  readonly row: string;
  readonly server: ServerUnderTest;
  readonly processes: SiteProcesses;
  readonly players: Players;
  readonly plan: Plan;
  readonly trouble: Trouble;
}

type Metrics = Readonly<Record<string, number>>;

async function measure({ scale, runs, samples, trouble }: Measurement): Promise<void> {
  const plan = plans[scale];
  const backend = new QueryBackend({ devices: plan.sessions, dates: plan.dates }, trouble);
  try {
    await interleave(plan.edges, runs, async (edges) => {
      const row = rowOf(edges);
      samples.add(row, await measureSite(row, edges, plan, backend, trouble));
    });
  } finally {
    await backend.stop();
  }
}

async function measureSite(
  row: string,
  edges: number,
  plan: Plan,
  backend: QueryBackend,
  trouble: Trouble,
): Promise<Metrics> {
  const server = await startReveille({ devices: plan.sessions, edges, env: raisedWakeupLimits });
  const players = startPlayers();
  try {
    const site = { row, server, processes: new SiteProcesses(server.child), players, plan, trouble };
    const asleep = await measureLogins(site);
    const heartbeats = await measureHeartbeats(site);
    const wakeups = await measureWakeups(site);
    const answers = await measureAnswers(site, backend);
    await expectNoneLost(players, row, trouble);
    return { ...asleep, ...heartbeats, ...wakeups, ...answers };
  } finally {
    await server.stop();
    await players.stop();
  }
}

async function measureLogins({ server, processes, players, plan, trouble }: Site): Promise<Metrics> {
  const { sessions, restSeconds } = plan;
  const emptyBytes = await processes.pssBytes();
  const read = processes.measure();
  await logIn(players, { port: server.devicePort, dialect: 'reveille', count: sessions }, trouble);
  const { cpuSeconds, coreCpuSeconds } = read();
  await sleep(restSeconds * 1000);
  const bytes = ((await processes.pssBytes()) - emptyBytes) / sessions;
  return { loginUs: (cpuSeconds / sessions) * 1e6, loginCoreUs: (coreCpuSeconds / sessions) * 1e6, bytes };
}

/** One heartbeat per device and second, less the cost of the same time without any. */
async function measureHeartbeats({ processes, players, plan }: Site): Promise<Metrics> {
  const { sessions, heartbeatSeconds: seconds } = plan;
  const readIdle = processes.measure();
  await sleep(seconds * 1000);
  const idle = readIdle();
  const read = processes.measure();
  await players.service.ask('heartbeats', { seconds, everySeconds: 1 });
  const spent = read();
  const count = sessions * seconds;
  return {
    heartbeatUs: ((spent.cpuSeconds - idle.cpuSeconds) / count) * 1e6,
    heartbeatCoreUs: ((spent.coreCpuSeconds - idle.coreCpuSeconds) / count) * 1e6,
  };
}

async function measureWakeups({ row, server, processes, players, plan, trouble }: Site): Promise<Metrics> {
  const { sessions, oneByOne, ratePerSecond, wakeSeconds: seconds } = plan;
  const { service } = players;
  const port = server.httpPort;
  const warmUpSeconds = seconds * warmUpShare;
  const count = oneByOne + Math.ceil((warmUpSeconds + seconds) * ratePerSecond);
  await service.ask('signWakeups', { devices: sessions, count });
  const shape = { port, connections: wakeConnections, ratePerSecond };
  const warmUp = await service.ask('wakeAtRate', { ...shape, seconds: warmUpSeconds });
  const idle = await service.ask('wakeOneByOne', { port, count: oneByOne });
  const read = processes.measure();
  const loaded = await service.ask('wakeAtRate', { ...shape, seconds });
  const { cpuSeconds, coreCpuSeconds } = read();
  for (const reading of [warmUp, idle, loaded]) trouble.expectGoodWakes(row, reading);
  return {
    wakeIdleP50: idle.wake.p50Ms,
    wakeP99: loaded.wake.p99Ms,
    wakeUs: (cpuSeconds / loaded.wake.count) * 1e6,
    wakeCoreUs: (coreCpuSeconds / loaded.wake.count) * 1e6,
  };
}

const asked: Readonly<Record<string, AskedKind | 'batches'>> = {
  queryUs: 'connectivity',
  statusUs: 'call-status',
  batchUs: 'batches',
  credentialsUs: 'credentials',
};

async function measureAnswers(
  { row, server, processes, plan: { querySeconds } }: Site,
  backend: QueryBackend,
): Promise<Metrics> {
  const metrics: Record<string, number> = {};
  for (const [metric, kind] of Object.entries(asked)) {
    await backend.sign(kind);
    await backend.ask(row, server, querySeconds * warmUpShare);
    const read = processes.measure();
    const { load } = await backend.ask(row, server, querySeconds);
    const devices = kind === 'batches' ? devicesOfBatch : 1;
    metrics[metric] = (read().cpuSeconds / (load.latency.count * devices)) * 1e6;
  }
  return metrics;
}

const { sessions, heartbeatSeconds, oneByOne, ratePerSecond, wakeSeconds, querySeconds } = plans.full;

/** Compares 2 edges, as docs/edges.md recommends, with none. */
const target = (what: string, metric: string, unit: string, most: number) => ({
  what: `${what}, through 2 edges, against none`,
  row: rowOf(2),
  metric,
  unit,
  compared: ratioTo(inProcess),
  bound: atMost(most),
});

export const edges: Benchmark = {
  title: 'Edges',
  runs: 3,
  notes: [
    `${sessions} sleeping devices at one server, whose processes are all on one core; CPU of all of them, and the core’s share.`,
    `Heartbeats: one of each device a second for ${heartbeatSeconds} s, less the CPU of the same time without any. Wakeups: ${oneByOne} one at a time, ` +
      `then ${ratePerSecond}/s for ${wakeSeconds} s. Answers: closed loops of ${querySeconds} s. Memory: growth of PSS with the logins.`,
  ],
  columns: [
    { metric: 'loginUs', title: 'login CPU µs', digits: 1 },
    { metric: 'loginCoreUs', title: 'core’s', digits: 1 },
    { metric: 'heartbeatUs', title: 'heartbeat CPU µs', digits: 2 },
    { metric: 'heartbeatCoreUs', title: 'core’s', digits: 2 },
    { metric: 'wakeIdleP50', title: 'wakeup idle p50 ms', digits: 3 },
    { metric: 'wakeP99', title: 'loaded p99 ms', digits: 2 },
    { metric: 'wakeUs', title: 'wakeup CPU µs', digits: 1 },
    { metric: 'wakeCoreUs', title: 'core’s', digits: 1 },
    { metric: 'queryUs', title: 'query CPU µs', digits: 1 },
    { metric: 'statusUs', title: 'call status', digits: 1 },
    { metric: 'batchUs', title: 'device of a batch', digits: 2 },
    { metric: 'credentialsUs', title: 'credentials', digits: 1 },
    { metric: 'bytes', title: 'bytes/device', digits: 0 },
  ],
  targets: [
    target('CPU of a login', 'loginUs', 'µs', 1.5),
    target('… the core’s share', 'loginCoreUs', 'µs', 0.8),
    target('CPU of a wakeup', 'wakeUs', 'µs', 1.25),
    {
      ...target('Wakeup to the device, idle p50', 'wakeIdleP50', 'ms', 0.3),
      compared: differenceFrom(inProcess),
    },
    target('CPU of a query', 'queryUs', 'µs', 1.05),
    target('… of a call status', 'statusUs', 'µs', 1.05),
    target('… of a device of a batch', 'batchUs', 'µs', 1.05),
    target('… of credentials', 'credentialsUs', 'µs', 1.05),
    target('CPU of a heartbeat, the core’s share', 'heartbeatCoreUs', 'µs', 0.1),
    target('Memory of a sleeping device', 'bytes', 'B', 1.15),
  ],
  measure,
};
