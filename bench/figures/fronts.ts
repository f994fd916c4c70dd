/** The cost of API fronts: CPU of the core's thread, of the fronts and in total, for each kind of request, on the same cores. */
import {
  atMost,
  differenceFrom,
  inTurn,
  ratioTo,
  type Benchmark,
  type Measurement,
  type Scale,
  type Target,
} from '../harness/benchmark.ts';
import { Samples } from '../harness/samples.ts';
import {
  raisedWakeupLimits,
  startReveille,
  type ServerUnderTest,
  type Verification,
} from '../harness/servers.ts';
import { ServerThreads, type ThreadsSpent } from '../harness/server-threads.ts';
import type { Trouble } from '../harness/trouble.ts';
import { expectNoneLost, logIn, startPlayers, type Players } from '../load/players.ts';
import type { LoadReading } from '../load/http-load.ts';
import { QueryBackend, queryConnections } from '../load/query-backend.ts';
import { devicesOfBatch } from '../load/signed-requests.ts';

/** `dates`: also the number of rooms per device, which may have at most four sessions. */
const plans = {
  full: { devices: 6000, dates: 4, warmUpSeconds: 2, rounds: 5, seconds: 0.8, ratePerSecond: 2000 },
  smoke: { devices: 200, dates: 4, warmUpSeconds: 0.1, rounds: 1, seconds: 0.2, ratePerSecond: 200 },
};
type Plan = (typeof plans)['full'];

interface Contender {
  readonly row: string;
  readonly fronts: number;
  readonly verification: Verification;
}

const none = 'none';
const inline = 'none, inline';
const rowOf = (fronts: number): string => `${fronts} front${fronts === 1 ? '' : 's'}`;
const withFronts = (fronts: number): Contender => ({ row: rowOf(fronts), fronts, verification: 'pool' });
const contenders = {
  full: [
    { row: none, fronts: 0, verification: 'pool' },
    { row: inline, fronts: 0, verification: 'inline' },
    withFronts(1),
    withFronts(2),
    withFronts(4),
  ],
  smoke: [{ row: none, fronts: 0, verification: 'pool' }, withFronts(2)],
} satisfies Record<string, readonly Contender[]>;

/** Longer than a run, at the interval of known modules. */
const heartbeats = { seconds: 600, everySeconds: 45 };

interface Site extends Contender {
  readonly server: ServerUnderTest;
  readonly threads: ServerThreads;
  readonly players: Players;
}

type Metrics = Readonly<Record<string, number>>;

async function measure(measurement: Measurement): Promise<void> {
  const { scale, runs, trouble } = measurement;
  const backend = new QueryBackend(plans[scale], trouble);
  try {
    for (let run = 0; run < runs; run += 1)
      await measureRun(inTurn(contenders[scale], run), measurement, backend);
  } finally {
    await backend.stop();
  }
}

/** All servers run concurrently, so that they can take turns. */
async function measureRun(
  listed: readonly Contender[],
  { scale, samples, trouble }: Measurement,
  backend: QueryBackend,
): Promise<void> {
  const plan = plans[scale];
  const sites: Site[] = [];
  try {
    for (const contender of listed) sites.push(await openSite(contender, scale, trouble));
    const measured = new Map(sites.map(({ row }) => [row, {}]));
    const figures = new FrontFigures(sites, plan, backend, trouble);
    for (const measureKind of figures.kinds)
      for (const [row, metrics] of await measureKind()) Object.assign(measured.get(row) ?? {}, metrics);
    for (const { row, players } of sites) {
      await expectNoneLost(players, row, trouble);
      samples.add(row, measured.get(row) ?? {});
    }
  } finally {
    for (const { server, players } of sites) {
      await server.stop();
      await players.stop();
    }
  }
}

async function openSite(contender: Contender, scale: Scale, trouble: Trouble): Promise<Site> {
  const { devices } = plans[scale];
  const { fronts, verification } = contender;
  const server = await startReveille({
    devices,
    fronts,
    verification,
    isBare: true,
    env: raisedWakeupLimits,
  });
  const players = startPlayers();
  await logIn(players, { port: server.devicePort, dialect: 'reveille', count: devices }, trouble);
  // The heartbeats end with their process.
  players.service.ask('heartbeats', heartbeats).catch(() => undefined);
  return { ...contender, server, threads: new ServerThreads(server.child), players };
}

class FrontFigures {
  readonly kinds = [
    () => this.#queries(),
    () => this.#rest(),
    () => this.#batches(),
    () => this.#wakeups(),
    () => this.#credentials(),
  ] as const;
  readonly #sites: readonly Site[];
  readonly #plan: Plan;
  readonly #backend: QueryBackend;
  readonly #trouble: Trouble;

  constructor(sites: readonly Site[], plan: Plan, backend: QueryBackend, trouble: Trouble) {
    this.#sites = sites;
    this.#plan = plan;
    this.#backend = backend;
    this.#trouble = trouble;
  }

  async #queries(): Promise<ReadonlyMap<string, Metrics>> {
    await this.#backend.sign('connectivity');
    for (const { fronts, threads, ...site } of this.#sites)
      await threads.findFronts(fronts, () => this.#ask(site, this.#plan.warmUpSeconds));
    return this.#inTurns('query', (site, seconds) => this.#ask(site, seconds));
  }

  #rest(): Promise<ReadonlyMap<string, Metrics>> {
    return this.#inTurns('rest', (site, seconds) => this.#ask(site, seconds, 1));
  }

  async #batches(): Promise<ReadonlyMap<string, Metrics>> {
    await this.#backend.sign('batches');
    return this.#inTurns('batch', (site, seconds) => this.#ask(site, seconds), devicesOfBatch);
  }

  async #credentials(): Promise<ReadonlyMap<string, Metrics>> {
    await this.#backend.sign('credentials');
    return this.#inTurns('credentials', (site, seconds) => this.#ask(site, seconds));
  }

  async #wakeups(): Promise<ReadonlyMap<string, Metrics>> {
    const { devices, warmUpSeconds, rounds, seconds, ratePerSecond } = this.#plan;
    const count = Math.ceil((warmUpSeconds + rounds * seconds) * ratePerSecond);
    for (const { players } of this.#sites) await players.service.ask('signWakeups', { devices, count });
    const shape = { connections: queryConnections, ratePerSecond };
    return this.#inTurns('wake', async ({ row, server, players }, forSeconds) => {
      const reading = await players.service.ask('wakeAtRate', {
        ...shape,
        seconds: forSeconds,
        port: server.httpPort,
      });
      this.#trouble.expectGoodWakes(row, reading);
      return reading.answers;
    });
  }

  #ask(
    { row, server }: Pick<Site, 'row' | 'server'>,
    forSeconds: number,
    connections?: number,
  ): Promise<LoadReading> {
    return this.#backend.load(row, server, { seconds: forSeconds, ...(connections && { connections }) });
  }

  /** Warms up each site, then loads it for a short time in each round. `pieces`: number per response. */
  async #inTurns(
    name: string,
    load: (site: Site, forSeconds: number) => Promise<LoadReading>,
    pieces = 1,
  ): Promise<ReadonlyMap<string, Metrics>> {
    const { warmUpSeconds, rounds, seconds } = this.#plan;
    const spent = new Samples();
    for (const site of this.#sites) await load(site, warmUpSeconds);
    for (let round = 0; round < rounds; round += 1)
      for (const site of this.#sites) {
        const read = site.threads.measure();
        const { latency } = await load(site, seconds);
        const metrics = perPiece(name, read(), latency.count * pieces);
        spent.add(site.row, { ...metrics, [`${name}P50`]: latency.p50Ms });
      }
    return new Map(spent.rows.map((row) => [row, spent.medians(row)]));
  }
}

function perPiece(name: string, { all, core, fronts }: ThreadsSpent, count: number): Metrics {
  const us = (seconds: number): number => (seconds / count) * 1e6;
  return { [`${name}CoreUs`]: us(core), [`${name}FrontsUs`]: us(fronts), [`${name}Us`]: us(all) };
}

const { devices, dates, rounds, seconds, ratePerSecond } = plans.full;

/** Compares 2 fronts, as docs/fronts.md recommends, with none. */
const target = (
  what: string,
  metric: string,
  compared: Target['compared'],
  most: number | null,
  unit = 'µs',
) => ({
  what,
  row: rowOf(2),
  metric,
  unit,
  compared,
  bound: most === null ? null : atMost(most),
});
const alone = { kind: 'alone' } as const;

const columnsOf = (name: string, title: string, digits: number) => [
  { metric: `${name}CoreUs`, title: `${title}: core µs`, digits },
  { metric: `${name}FrontsUs`, title: 'fronts', digits },
  { metric: `${name}Us`, title: 'all', digits },
];

export const fronts: Benchmark = {
  title: 'API fronts',
  runs: 3,
  notes: [
    `CPU of the core’s thread, of all fronts’ and of the whole server, which has one core and ${devices} sleeping devices. The servers take ` +
      `turns of ${seconds} s, ${rounds} each, and the median counts: a machine that is faster now than a moment ago is so for all of them.`,
    `${devices * dates} distinct signed requests of each kind over ${queryConnections} keep-alive connections, closed loops; wakeups ` +
      `${ratePerSecond}/s. At rest: one connection. Batches: ${devicesOfBatch} devices in each. The core of a trial took 13 µs for a query without fronts.`,
  ],
  columns: [
    { metric: 'restP50', title: 'query p50 ms at rest', digits: 3 },
    ...columnsOf('query', 'query', 1),
    ...columnsOf('batch', 'device of a batch', 2),
    ...columnsOf('wake', 'wakeup', 1),
    ...columnsOf('credentials', 'credentials', 1),
  ],
  targets: [
    target('Query through 2 fronts: the core’s thread', 'queryCoreUs', alone, 5),
    target('… against inline verification without fronts', 'queryCoreUs', ratioTo(inline), 0.25),
    target('… all CPU, against no fronts', 'queryUs', ratioTo(none), 1.25),
    target('… p50 at rest', 'restP50', differenceFrom(none), 0.15, 'ms'),
    target('Device of a batch: the core’s thread, against no fronts', 'batchCoreUs', ratioTo(none), 1),
    target('Wakeup: the core’s thread', 'wakeCoreUs', alone, 100),
    target('… all CPU, against no fronts', 'wakeUs', ratioTo(none), 1.2),
    target('Credentials: the core’s thread, against no fronts', 'credentialsCoreUs', ratioTo(none), 0.4),
  ],
  measure,
};
