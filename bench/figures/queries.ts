/** Signed connectivity queries, against a plain server of the same duties, and against Fastify and bare uWebSockets.js without signatures. */
import {
  atLeast,
  atMost,
  contendersIn,
  inTurn,
  ratioTo,
  type AnyScale,
  type Benchmark,
  type Measurement,
} from '../harness/benchmark.ts';
import {
  plainServer,
  startPeer,
  startReveille,
  type PeerName,
  type ServerUnderTest,
  type Verification,
} from '../harness/servers.ts';
import type { DialectName } from '../load/dialects.ts';
import { batchConnections, closedMetrics, QueryBackend, queryConnections } from '../load/query-backend.ts';
import { devicesOfBatch } from '../load/signed-requests.ts';

const plans = {
  full: { devices: 10_000, dates: 10, warmUpSeconds: 2, warmUpAnswers: 0, warmUpBatches: 0, seconds: 5 },
  short: {
    devices: 2000,
    dates: 10,
    warmUpSeconds: 0.8,
    warmUpAnswers: 40_000,
    warmUpBatches: 500,
    seconds: 1.5,
  },
  smoke: { devices: 200, dates: 5, warmUpSeconds: 0.1, warmUpAnswers: 0, warmUpBatches: 0, seconds: 0.3 },
};

interface Contender {
  readonly row: string;
  /** Login of its sleeping devices; null: it has none. */
  readonly dialect: DialectName | null;
  /** Answers batches, too. */
  readonly hasBatches: boolean;
  readonly start: (devices: number) => Promise<ServerUnderTest>;
}

const ours = (verification: Verification): Contender => ({
  row: verification,
  dialect: 'reveille',
  hasBatches: true,
  start: (devices) => startReveille({ devices, verification }),
});

const peer = (row: string, name: PeerName, dialect: DialectName | null): Contender => ({
  row,
  dialect,
  hasBatches: false,
  start: () => startPeer(name),
});

const contenders: readonly Contender[] = [
  peer('Fastify', 'fastify', null),
  peer('bare uWS', 'bare-uws', null),
  peer('plain', 'plain', 'reveille'),
  ours('inline'),
  ours('pool'),
];

async function measure(measurement: Measurement<AnyScale>): Promise<void> {
  const { scale, runs, samples, trouble } = measurement;
  const plan = plans[scale];
  const backend = new QueryBackend(plan, trouble);
  try {
    for (let run = 0; run < runs; run += 1)
      for (const contender of inTurn(contendersIn(measurement, contenders), run))
        samples.add(contender.row, await measureOne(contender, plan, backend));
  } finally {
    await backend.stop();
  }
}

async function measureOne(
  { row, dialect, hasBatches, start }: Contender,
  { devices, warmUpSeconds, warmUpAnswers, warmUpBatches, seconds }: (typeof plans)['full'],
  backend: QueryBackend,
): Promise<Record<string, number>> {
  // The load is prepared on its core while the server starts on the other.
  const [server] = await Promise.all([start(devices), backend.sign('connectivity')]);
  const ask = async (): Promise<Record<string, number>> => {
    await backend.warmUp(row, server, warmUpSeconds, warmUpAnswers);
    return closedMetrics(await backend.ask(row, server, seconds));
  };
  try {
    if (dialect === null) return await ask();
    return await backend.withSleepingDevices(row, dialect, server, async () => {
      const single = await ask();
      if (!hasBatches) return single;
      await backend.sign('batches');
      await backend.warmUp(row, server, warmUpSeconds, warmUpBatches);
      const batches = closedMetrics(await backend.ask(row, server, seconds), devicesOfBatch);
      return { ...single, batchRate: batches['rate'] ?? NaN, batchCpuUs: batches['cpuUs'] ?? NaN };
    });
  } finally {
    await server.stop();
  }
}

const { devices, dates, seconds } = plans.full;
const queriesPerCpuSecond = { row: 'inline', metric: 'perCpuSecond', unit: '/s' };

export const queries: Benchmark = {
  title: 'Signed connectivity queries',
  runs: 3,
  notes: [
    `${devices * dates} distinct signed requests for ${devices} sleeping devices; ${queryConnections} keep-alive connections, a closed loop of ` +
      `${seconds} s. Batches: ${devicesOfBatch} devices in each, over ${batchConnections} connections.`,
    plainServer,
    'The other peers answer the same JSON, unsigned and without a store. Below about 95 % busy, the rate is the load generator’s.',
  ],
  columns: [
    { metric: 'rate', title: 'queries/s', digits: 0 },
    { metric: 'cpuUs', title: 'server CPU µs/query', digits: 1 },
    { metric: 'mainCpuUs', title: 'main thread CPU µs', digits: 1 },
    { metric: 'busy', title: 'busy %', digits: 0 },
    { metric: 'p50', title: 'p50 ms', digits: 2 },
    { metric: 'p99', title: 'p99 ms', digits: 2 },
    { metric: 'batchRate', title: 'in batches: devices/s', digits: 0 },
    { metric: 'batchCpuUs', title: 'CPU µs/device', digits: 2 },
  ],
  targets: [
    {
      ...queriesPerCpuSecond,
      what: 'Signed queries per CPU-second, against Fastify (unsigned)',
      compared: ratioTo('Fastify'),
      bound: atLeast(1.25),
    },
    {
      ...queriesPerCpuSecond,
      what: '… against bare uWebSockets.js (unsigned)',
      compared: ratioTo('bare uWS'),
      bound: null,
    },
    {
      ...queriesPerCpuSecond,
      what: '… against a plain server of the same duties',
      compared: ratioTo('plain'),
      bound: atLeast(1.5),
    },
    {
      what: 'CPU of the main thread for a query, `pool` against `inline`',
      row: 'pool',
      metric: 'mainCpuUs',
      unit: 'µs',
      compared: ratioTo('inline'),
      bound: null,
    },
    {
      what: 'CPU of a device in a batch, against a query',
      row: 'pool',
      metric: 'batchCpuUs',
      unit: 'µs',
      compared: ratioTo('pool', 'cpuUs'),
      bound: atMost(0.1),
    },
  ],
  watched: [
    {
      what: 'CPU of a signed query',
      row: 'inline',
      metric: 'cpuUs',
      unit: 'µs',
      peer: { row: 'Fastify', metric: 'cpuUs' },
    },
    {
      what: 'CPU of a device in a batch',
      row: 'inline',
      metric: 'batchCpuUs',
      unit: 'µs',
      peer: { row: 'Fastify', metric: 'cpuUs' },
    },
  ],
  measure,
};
