/** The price of API fronts: the core's thread, the fronts' and all together, for each kind of request, on the same cores. */
import {
  atMost,
  differenceFrom,
  interleave,
  ratioTo,
  type Benchmark,
  type Measurement,
} from '../harness/benchmark.ts';
import { startReveille, type ServerUnderTest, type Verification } from '../harness/servers.ts';
import { ServerThreads, type ThreadsSpent } from '../harness/server-threads.ts';
import type { Trouble } from '../harness/trouble.ts';
import { expectNoneLost, logIn, startPlayers, type Players } from '../load/players.ts';
import { QueryBackend, queryConnections } from '../load/query-backend.ts';
import { devicesOfBatch } from '../load/signed-requests.ts';

/** `dates`: also the rooms of a device, which has at most four sessions. */
const plans = {
  full: { devices: 12_000, dates: 4, warmUpSeconds: 1.5, seconds: 4, restSeconds: 2, ratePerSecond: 3000 },
  smoke: { devices: 200, dates: 4, warmUpSeconds: 0.1, seconds: 0.3, restSeconds: 0.1, ratePerSecond: 200 },
};
type Plan = (typeof plans)['full'];

interface Contender {
  readonly row: string;
  readonly fronts: number;
  readonly verification: Verification;
}

const none = 'none';
const rowOf = (fronts: number): string => `${fronts} front${fronts === 1 ? '' : 's'}`;
const withFronts = (fronts: number): Contender => ({ row: rowOf(fronts), fronts, verification: 'pool' });
const contenders: readonly Contender[] = [
  { row: none, fronts: 0, verification: 'pool' },
  { row: 'none, inline', fronts: 0, verification: 'inline' },
  withFronts(1),
  withFronts(2),
  withFronts(4),
];

/** Never reached. */
const raisedLimits = {
  REVEILLE_WAKEUP_DEVICE_PER_SECOND: '1000',
  REVEILLE_WAKEUP_APPLICATION_PER_SECOND: '100000',
};

interface Site extends Contender {
  readonly server: ServerUnderTest;
  readonly threads: ServerThreads;
  readonly players: Players;
  readonly backend: QueryBackend;
  readonly plan: Plan;
  readonly trouble: Trouble;
}

type Metrics = Readonly<Record<string, number>>;

async function measure({ scale, runs, samples, trouble }: Measurement): Promise<void> {
  const plan = plans[scale];
  const backend = new QueryBackend(plan, trouble);
  try {
    await interleave(contenders, runs, async (contender) => {
      const { fronts, verification } = contender;
      const server = await startReveille({
        devices: plan.devices,
        fronts,
        verification,
        isBuilt: scale === 'full',
        env: raisedLimits,
      });
      const players = startPlayers();
      try {
        const threads = new ServerThreads(server.child);
        const site = { ...contender, server, threads, players, backend, plan, trouble };
        samples.add(contender.row, await measureSite(site));
      } finally {
        await server.stop();
        await players.stop();
      }
    });
  } finally {
    await backend.stop();
  }
}

async function measureSite(site: Site): Promise<Metrics> {
  const { row, server, players, plan, trouble } = site;
  await logIn(players, { port: server.devicePort, dialect: 'reveille', count: plan.devices }, trouble);
  const metrics = {
    ...(await measureQueries(site)),
    ...(await measureBatches(site)),
    ...(await measureWakeups(site)),
    ...(await measureCredentials(site)),
  };
  await expectNoneLost(players, row, trouble);
  return metrics;
}

async function measureQueries({ row, fronts, server, threads, backend, plan }: Site): Promise<Metrics> {
  const { warmUpSeconds, seconds, restSeconds } = plan;
  await backend.sign('connectivity');
  await threads.findFronts(fronts, () => backend.load(row, server, { seconds: warmUpSeconds }));
  const rest = await backend.load(row, server, { seconds: restSeconds, connections: 1 });
  const read = threads.measure();
  const { latency, ratePerSecond } = await backend.load(row, server, { seconds });
  return {
    queryRate: ratePerSecond,
    restP50: rest.latency.p50Ms,
    queryP99: latency.p99Ms,
    ...perPiece('query', read(), latency.count),
  };
}

async function measureBatches({ row, server, threads, backend, plan }: Site): Promise<Metrics> {
  await backend.sign('batches');
  await backend.load(row, server, { seconds: plan.warmUpSeconds });
  const read = threads.measure();
  const { latency } = await backend.load(row, server, plan);
  return perPiece('batch', read(), latency.count * devicesOfBatch);
}

async function measureWakeups({ row, server, threads, players, plan, trouble }: Site): Promise<Metrics> {
  const { devices, warmUpSeconds, seconds, ratePerSecond } = plan;
  const { service } = players;
  const count = Math.ceil((warmUpSeconds + seconds) * ratePerSecond);
  await service.ask('signWakeups', { devices, count });
  const shape = { port: server.httpPort, connections: queryConnections, ratePerSecond };
  const warmUp = await service.ask('wakeAtRate', { ...shape, seconds: warmUpSeconds });
  const read = threads.measure();
  const loaded = await service.ask('wakeAtRate', { ...shape, seconds });
  const spent = read();
  for (const reading of [warmUp, loaded]) trouble.expectGoodWakes(row, reading);
  return perPiece('wake', spent, loaded.wake.count);
}

async function measureCredentials({ row, server, threads, backend, plan }: Site): Promise<Metrics> {
  await backend.sign('credentials');
  await backend.load(row, server, { seconds: plan.warmUpSeconds });
  const read = threads.measure();
  const { latency } = await backend.load(row, server, plan);
  return perPiece('credentials', read(), latency.count);
}

/** CPU of one, in microseconds. */
function perPiece(name: string, { all, core, fronts }: ThreadsSpent, count: number): Metrics {
  const us = (seconds: number): number => (seconds / count) * 1e6;
  return { [`${name}CoreUs`]: us(core), [`${name}FrontsUs`]: us(fronts), [`${name}Us`]: us(all) };
}

const { devices, dates, seconds, ratePerSecond } = plans.full;

const coreTarget = (what: string, metric: string, most: number) => ({
  what,
  row: rowOf(2),
  metric,
  unit: 'µs',
  bound: atMost(most),
});

const columnsOf = (name: string, title: string, digits: number) => [
  { metric: `${name}CoreUs`, title: `${title}: core µs`, digits },
  { metric: `${name}FrontsUs`, title: 'fronts', digits },
  { metric: `${name}Us`, title: 'all', digits },
];

export const fronts: Benchmark = {
  title: 'API fronts',
  runs: 3,
  notes: [
    `CPU of the core’s thread, of the fronts’ and of all, in a server on one core with ${devices} sleeping devices.`,
    `${devices * dates} distinct signed requests of each kind over ${queryConnections} keep-alive connections; closed loops of ${seconds} s, ` +
      `wakeups ${ratePerSecond}/s. At rest: one connection. Batches: ${devicesOfBatch} devices in each, for each device.`,
  ],
  columns: [
    { metric: 'queryRate', title: 'queries/s', digits: 0 },
    { metric: 'restP50', title: 'p50 ms at rest', digits: 3 },
    ...columnsOf('query', 'query', 1),
    ...columnsOf('batch', 'device of a batch', 2),
    ...columnsOf('wake', 'wakeup', 1),
    ...columnsOf('credentials', 'credentials', 1),
  ],
  targets: [
    {
      ...coreTarget('Query through 2 fronts: the core’s thread', 'queryCoreUs', 5),
      compared: { kind: 'alone' },
    },
    { ...coreTarget('… all CPU', 'queryUs', 1.25), compared: ratioTo(none) },
    { ...coreTarget('… p50 at rest', 'restP50', 0.15), unit: 'ms', compared: differenceFrom(none) },
    { ...coreTarget('Device of a batch: the core’s thread', 'batchCoreUs', 1), compared: ratioTo(none) },
    { ...coreTarget('Wakeup: the core’s thread', 'wakeCoreUs', 100), compared: { kind: 'alone' } },
    { ...coreTarget('… all CPU', 'wakeUs', 1.2), compared: ratioTo(none) },
    { ...coreTarget('Credentials: the core’s thread', 'credentialsCoreUs', 0.4), compared: ratioTo(none) },
  ],
  measure,
};
