/** Call credentials and call status, against connectivity queries at the same server. */
import {
  atLeast,
  atMost,
  inTurn,
  interleave,
  ratioTo,
  type Benchmark,
  type Measurement,
} from '../harness/benchmark.ts';
import {
  plainServer,
  startPeer,
  startReveille,
  type ServerUnderTest,
  type Verification,
} from '../harness/servers.ts';
import type { DialectName } from '../load/dialects.ts';
import { closedMetrics, QueryBackend, queryConnections } from '../load/query-backend.ts';
import type { AskedKind } from '../load/signed-requests.ts';

/** `dates`: also the number of rooms per device, which may have at most four sessions. */
const plans = {
  full: { devices: 18_000, dates: 4, warmUpSeconds: 1, seconds: 4 },
  smoke: { devices: 300, dates: 4, warmUpSeconds: 0.1, seconds: 0.3 },
};
const kinds: readonly AskedKind[] = ['connectivity', 'call-status', 'credentials'];

interface Contender {
  readonly row: string;
  readonly kinds: readonly AskedKind[];
  readonly dialect: DialectName;
  readonly start: (devices: number) => Promise<ServerUnderTest>;
}

const ours = (verification: Verification): Contender => ({
  row: verification,
  kinds,
  dialect: 'reveille',
  start: (devices) => startReveille({ devices, verification }),
});

const contenders: readonly Contender[] = [
  {
    row: 'plain',
    kinds: ['connectivity', 'credentials'],
    dialect: 'reveille',
    start: () => startPeer('plain'),
  },
  ours('inline'),
  ours('pool'),
];

async function measure({ scale, runs, samples, trouble }: Measurement): Promise<void> {
  const plan = plans[scale];
  const backend = new QueryBackend(plan, trouble);
  const measureServer = async (contender: Contender, run: number): Promise<void> => {
    const server = await contender.start(plan.devices);
    try {
      await backend.withSleepingDevices(contender.row, contender.dialect, server, async () => {
        for (const kind of inTurn(contender.kinds, run)) {
          const row = `${contender.row}: ${kind}`;
          await backend.sign(kind);
          await backend.ask(row, server, plan.warmUpSeconds);
          samples.add(row, closedMetrics(await backend.ask(row, server, plan.seconds)));
        }
      });
    } finally {
      await server.stop();
    }
  };
  try {
    await interleave(contenders, runs, measureServer);
  } finally {
    await backend.stop();
  }
}

const { devices, dates, seconds } = plans.full;
const againstConnectivity = {
  metric: 'rate',
  unit: '/s',
  compared: ratioTo('pool: connectivity'),
};

export const credentials: Benchmark = {
  title: 'Call credentials and call status',
  runs: 2,
  notes: [
    `${devices * dates} distinct signed requests of each kind over ${devices} sleeping devices; a closed loop over ${queryConnections} keep-alive ` +
      `connections, ${seconds} s; the kinds take turns. Each request for credentials begins a session, which is committed before the answer.`,
    plainServer,
  ],
  columns: [
    { metric: 'rate', title: 'requests/s', digits: 0 },
    { metric: 'cpuUs', title: 'server CPU µs', digits: 1 },
    { metric: 'p50', title: 'p50 ms', digits: 2 },
    { metric: 'p99', title: 'p99 ms', digits: 2 },
  ],
  targets: [
    {
      ...againstConnectivity,
      what: 'Call credentials, against connectivity queries',
      row: 'pool: credentials',
      bound: null,
    },
    {
      what: 'CPU of call credentials, against a plain server of the same duties',
      row: 'pool: credentials',
      metric: 'cpuUs',
      unit: 'µs',
      compared: ratioTo('plain: credentials'),
      bound: atMost(1),
    },
    {
      ...againstConnectivity,
      what: 'Call status, against connectivity queries',
      row: 'pool: call-status',
      bound: atLeast(0.9),
    },
  ],
  measure,
};
