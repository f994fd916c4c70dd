/** Figure: signed connectivity queries, against Fastify and bare uWebSockets.js without signatures. */
import { assert } from '../../src/lib/assert.ts';
import { loadCore } from './child.ts';
import type { Figure, Target } from './figure.ts';
import type { Plan } from './plan.ts';
import {
  batchConnections,
  closedMetrics,
  QueryBackend,
  queryConnections,
  type QueryReading,
} from './query-backend.ts';
import { devicesOfBatch } from './signed-requests.ts';
import { interleave } from './rounds.ts';
import { difference, ratio, Samples } from './samples.ts';
import {
  startPeer,
  startReveille,
  type PeerName,
  type ServerUnderTest,
  type Verification,
} from './servers.ts';
import { Trouble } from './trouble.ts';

const share = 0.7;

interface Contender {
  readonly name: string;
  /** Null: ours. */
  readonly peer: PeerName | null;
  readonly verification: Verification;
  /** The worker threads get the load's processor; otherwise they share the main thread's. */
  readonly movesWorkers: boolean;
}

const inline: Contender = { name: 'inline', peer: null, verification: 'inline', movesWorkers: false };
const contenders: readonly Contender[] = [
  { name: 'Fastify', peer: 'fastify', verification: 'inline', movesWorkers: false },
  { name: 'bare uWS', peer: 'bare-uws', verification: 'inline', movesWorkers: false },
  inline,
  { name: 'pool', peer: null, verification: 'pool', movesWorkers: false },
  { name: 'pool, threads on the load core', peer: null, verification: 'pool', movesWorkers: true },
];

export async function measureQueries(plan: Plan): Promise<Figure> {
  const samples = new Samples();
  const trouble = new Trouble();
  const study = new QueryStudy(plan, trouble);
  let signedRound = -1;
  try {
    await study.sign();
    const openRate = share * (await study.findRate(inline));
    await interleave(contenders, plan.runs, async (contender, round) => {
      if (round !== signedRound) await study.sign();
      signedRound = round;
      samples.add(contender.name, await study.measure(contender, openRate));
    });
    return describe(plan, samples, trouble, openRate);
  } finally {
    await study.stop();
  }
}

class QueryStudy {
  readonly #plan: Plan['queries'];
  readonly #backend: QueryBackend;

  constructor({ queries }: Plan, trouble: Trouble) {
    this.#plan = queries;
    this.#backend = new QueryBackend(queries, trouble);
  }

  async sign(): Promise<void> {
    await this.#backend.sign();
    await this.#backend.signBatches();
  }

  stop(): Promise<void> {
    return this.#backend.stop();
  }

  /** Queries per second in a closed loop. */
  findRate(contender: Contender): Promise<number> {
    const { warmUpSeconds, seconds } = this.#plan;
    return this.#withServer(contender, async (server) => {
      await this.#backend.ask(contender.name, server, warmUpSeconds, null);
      return (await this.#backend.ask(contender.name, server, seconds, null)).load.ratePerSecond;
    });
  }

  measure(contender: Contender, openRate: number): Promise<Record<string, number>> {
    const { warmUpSeconds, seconds } = this.#plan;
    return this.#withServer(contender, async (server) => {
      await this.#backend.ask(contender.name, server, warmUpSeconds, null);
      const measured = closedMetrics(await this.#backend.ask(contender.name, server, seconds, null));
      if (contender.peer !== null) return measured;
      const batched = await this.#askBatches(contender.name, server);
      const open = await this.#backend.ask(contender.name, server, seconds, openRate);
      return {
        ...measured,
        ...openMetrics(open),
        ...batched,
        batchGain: ratio(batched['batchPerCpuSecond'] ?? NaN, measured['perCpuSecond'] ?? NaN),
      };
    });
  }

  /** Of the same server, behind its single queries. */
  async #askBatches(name: string, server: ServerUnderTest): Promise<Record<string, number>> {
    const { warmUpSeconds, seconds } = this.#plan;
    await this.#backend.askBatches(name, server, warmUpSeconds);
    const reading = await this.#backend.askBatches(name, server, seconds);
    const { rate = 0, cpuUs = 0, perCpuSecond = 0 } = closedMetrics(reading, devicesOfBatch);
    return {
      batchRate: rate,
      batchCpuUs: cpuUs,
      batchPerCpuSecond: perCpuSecond,
      batchP99: reading.load.latency.p99Ms,
      batchDelayMax: reading.spent.loopDelayMs.max,
    };
  }

  /** Devices are logged in where the server knows any. */
  async #withServer<Result>(
    { name, peer, verification, movesWorkers }: Contender,
    use: (server: ServerUnderTest) => Promise<Result>,
  ): Promise<Result> {
    const { devices } = this.#plan;
    const server = peer === null ? await startReveille({ devices, verification }) : await startPeer(peer);
    try {
      if (peer !== null) return await use(server);
      return await this.#backend.withSleepingDevices(name, server, () => {
        if (movesWorkers) server.child.moveWorkersTo(loadCore);
        return use(server);
      });
    } finally {
      await server.stop();
    }
  }
}

function openMetrics({ load, spent }: QueryReading): Record<string, number> {
  return {
    openDelayP99: spent.loopDelayMs.p99,
    openP99: load.latency.p99Ms,
    openMainCpuUs: (spent.mainCpuSeconds / load.latency.count) * 1e6,
  };
}

function describe(plan: Plan, samples: Samples, trouble: Trouble, openRate: number): Figure {
  const { devices, dates, seconds } = plan.queries;
  return {
    name: 'queries',
    title: 'Signed connectivity queries',
    notes: [
      `${devices * dates} distinct signed requests: ${devices} devices with live sessions, ${dates} dates each; ` +
        `${queryConnections} keep-alive connections without pipelining; default settings; ${seconds} s after a warm-up.`,
      'The peers get the very same bytes and answer the same JSON, unsigned and from no store.',
      'The load generator is one Node process: it is used up before bare uWebSockets.js is, so the rates flatter ' +
        'whoever is slower than the generator. "Server CPU" is what one core would be asked for; where a server is ' +
        'less than about 95 % busy its rate is the generator’s, and the comparison by CPU counts.',
      `At 70 %: an open loop of ${Math.round(openRate)} queries/s, latency from the moment each was due. ` +
        'Event loop delay is between two turns of a 1 ms timer, that 1 ms included.',
      `Batches: ${devicesOfBatch} devices in each, behind the single queries of the same server; ${batchConnections} connections.`,
      'Pool: the worker threads share the server’s core, or, where said, the load generator’s.',
    ],
    columns: [
      { metric: 'rate', title: 'queries/s', digits: 0 },
      { metric: 'cpuUs', title: 'server CPU µs/query', digits: 1 },
      { metric: 'mainCpuUs', title: 'main thread CPU µs/query', digits: 1 },
      { metric: 'busy', title: 'server busy %', digits: 0 },
      { metric: 'p50', title: 'p50 ms', digits: 2 },
      { metric: 'p99', title: 'p99 ms', digits: 2 },
      { metric: 'openMainCpuUs', title: 'at 70 %: main CPU µs', digits: 1 },
      { metric: 'openDelayP99', title: 'at 70 %: loop delay p99 ms', digits: 2 },
      { metric: 'openP99', title: 'at 70 %: p99 ms', digits: 2 },
      { metric: 'batchRate', title: 'in batches: devices/s', digits: 0 },
      { metric: 'batchCpuUs', title: 'server CPU µs/device', digits: 2 },
      { metric: 'batchP99', title: 'p99 ms', digits: 1 },
      { metric: 'batchDelayMax', title: 'longest loop delay ms', digits: 1 },
    ],
    samples,
    targets: targets(samples),
    trouble: trouble.list,
  };
}

function targets(samples: Samples): Target[] {
  const against = (theirs: string, metric: string, value: number | null, what: string): Target => ({
    what: `inline / ${theirs}, ${what}`,
    measured: samples.compare(metric, 'inline', theirs, ratio),
    bound: value === null ? null : { kind: 'at least', value },
    digits: 2,
  });
  const pools = contenders.filter(({ verification }) => verification === 'pool');
  return [
    against('Fastify', 'rate', null, 'rate'),
    against('Fastify', 'perCpuSecond', 1.15, 'queries per server CPU-second'),
    against('bare uWS', 'rate', null, 'rate'),
    against('bare uWS', 'perCpuSecond', 0.5, 'queries per server CPU-second'),
    ...[inline, ...pools].map(({ name }) => batchTarget(samples, name)),
    ...pools.flatMap(({ name }) => poolTargets(samples, name)),
  ];
}

function batchTarget(samples: Samples, name: string): Target {
  const measured = samples.spread(name, 'batchGain');
  assert(measured !== null, `${name} was asked in batches`);
  return {
    what: `${name}: in batches / one by one, devices per server CPU-second`,
    measured,
    bound: { kind: 'at least', value: 10 },
    digits: 1,
  };
}

/** "No worse" within what one step of the 1 ms timer can say. */
const noWorseMs = 0.1;

function poolTargets(samples: Samples, pool: string): Target[] {
  return [
    {
      what: `${pool} / inline, main thread CPU per query`,
      measured: samples.compare('mainCpuUs', pool, 'inline', ratio),
      bound: { kind: 'at most', value: 0.7 },
      digits: 2,
    },
    {
      what: `${pool} − inline, loop delay p99 at 70 %, ms`,
      measured: samples.compare('openDelayP99', pool, 'inline', difference),
      bound: { kind: 'at most', value: noWorseMs },
      digits: 2,
    },
  ];
}
