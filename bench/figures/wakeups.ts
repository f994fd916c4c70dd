/** From a signed POST to 8 bytes at the device, against a minimal implementation. */
import {
  atMost,
  contendersIn,
  interleave,
  ratioTo,
  type AnyScale,
  type Benchmark,
  type Measurement,
} from '../harness/benchmark.ts';
import { serverCore } from '../harness/child.ts';
import {
  plainServer,
  raisedWakeupLimits,
  startPeer,
  startReveille,
  type PeerName,
  type ServerUnderTest,
  type Verification,
} from '../harness/servers.ts';
import type { Trouble } from '../harness/trouble.ts';
import { expectNoneLost, logIn, startPlayers } from '../load/players.ts';

const plans = {
  full: { sessions: 15_000, warmUpSeconds: 2, oneByOne: 2000, ratePerSecond: 3000, seconds: 10 },
  short: { sessions: 1000, warmUpSeconds: 1, oneByOne: 500, ratePerSecond: 1000, seconds: 2 },
  smoke: { sessions: 300, warmUpSeconds: 0.1, oneByOne: 50, ratePerSecond: 500, seconds: 0.5 },
};
const connections = 64;

interface Contender {
  readonly row: string;
  readonly dialect: 'named' | 'reveille';
  readonly start: (devices: number) => Promise<ServerUnderTest>;
}

const ours = (row: string, verification: Verification, core: number | null): Contender => ({
  row,
  dialect: 'reveille',
  start: (devices) => startReveille({ devices, verification, core, env: raisedWakeupLimits }),
});
const peer = (row: string, name: PeerName, core: number | null): Contender => ({
  row,
  dialect: name === 'plain' ? 'reveille' : 'named',
  start: () => startPeer(name, core),
});
const [bare, bareUnpinned] = ['bare uWS + Map', 'bare, unpinned'];
const [plain, plainUnpinned, poolUnpinned] = ['plain', 'plain, unpinned', 'pool, unpinned'];
const contenders: readonly Contender[] = [
  peer(bare, 'bare-wakeup', serverCore),
  peer(plain, 'plain', serverCore),
  ours('pool', 'pool', serverCore),
  ours('inline', 'inline', serverCore),
  peer(bareUnpinned, 'bare-wakeup', null),
  peer(plainUnpinned, 'plain', null),
  ours(poolUnpinned, 'pool', null),
];

function measure(measurement: Measurement<AnyScale>): Promise<void> {
  const { scale, runs, samples, trouble } = measurement;
  return interleave(contendersIn(measurement, contenders), runs, async (contender) =>
    samples.add(contender.row, await measureOne(contender, plans[scale], trouble)),
  );
}

async function measureOne(
  { row, dialect, start }: Contender,
  { sessions, warmUpSeconds, oneByOne, ratePerSecond, seconds }: (typeof plans)['full'],
  trouble: Trouble,
): Promise<Record<string, number>> {
  const players = startPlayers();
  const { service } = players;
  const count = oneByOne + Math.ceil((warmUpSeconds + seconds) * ratePerSecond);
  // The load is prepared on its core while the server starts on the other.
  const [server] = await Promise.all([
    start(sessions),
    service.ask('signWakeups', { devices: sessions, count }),
  ]);
  const port = server.httpPort;
  try {
    const allConnected = dialect === 'named' ? server.connected?.(sessions) : null;
    await logIn(players, { port: server.devicePort, dialect, count: sessions }, trouble);
    await allConnected;
    const shape = { port, connections, ratePerSecond };
    const warmUp = await service.ask('wakeAtRate', { ...shape, seconds: warmUpSeconds });
    const idle = await service.ask('wakeOneByOne', { port, count: oneByOne });
    await server.child.probe.ask('reset', null);
    const loaded = await service.ask('wakeAtRate', { ...shape, seconds });
    const spent = await server.child.probe.ask('read', null);
    for (const reading of [warmUp, idle, loaded]) trouble.expectGoodWakes(row, reading);
    await expectNoneLost(players, row, trouble);
    return {
      idleP50: idle.wake.p50Ms,
      idleP99: idle.wake.p99Ms,
      rate: loaded.answers.ratePerSecond,
      loadedP50: loaded.wake.p50Ms,
      loadedP99: loaded.wake.p99Ms,
      cpuUs: (spent.cpuSeconds / loaded.wake.count) * 1e6,
    };
  } finally {
    await server.stop();
    await players.stop();
  }
}

const { sessions, oneByOne, ratePerSecond, seconds } = plans.full;

export const wakeups: Benchmark = {
  title: 'Wakeups',
  runs: 3,
  notes: [
    `From the POST to the 8 bytes at the device, ${sessions} sessions, distinct signed wakeups. Idle: ${oneByOne} one at a time. Loaded: ` +
      `${ratePerSecond}/s for ${seconds} s in an open loop over ${connections} connections, from when each was due; limits are raised.`,
    plainServer,
    'Unpinned: the server may use every core, also that of its load. Bare: a uWebSockets.js handler that parses the JSON, finds the socket in a Map and writes.',
  ],
  columns: [
    { metric: 'idleP50', title: 'idle p50 ms', digits: 3 },
    { metric: 'idleP99', title: 'idle p99 ms', digits: 3 },
    { metric: 'loadedP50', title: 'loaded p50 ms', digits: 3 },
    { metric: 'loadedP99', title: 'loaded p99 ms', digits: 3 },
    { metric: 'cpuUs', title: 'loaded: server CPU µs', digits: 1 },
  ],
  targets: [
    {
      what: 'Wakeup to the device, idle p50, against a bare POST → socket',
      row: 'pool',
      metric: 'idleP50',
      unit: 'ms',
      compared: ratioTo(bare),
      bound: null,
    },
    {
      what: '… idle p99',
      row: 'pool',
      metric: 'idleP99',
      unit: 'ms',
      compared: ratioTo(bare),
      bound: atMost(3),
    },
    {
      what: '… idle p99, neither pinned',
      row: poolUnpinned,
      metric: 'idleP99',
      unit: 'ms',
      compared: ratioTo(bareUnpinned),
      bound: atMost(2),
    },
    {
      what: `… p99 at ${ratePerSecond}/s`,
      row: 'pool',
      metric: 'loadedP99',
      unit: 'ms',
      compared: ratioTo(bare),
      bound: atMost(2),
    },
    {
      what: `… CPU of a wakeup at ${ratePerSecond}/s`,
      row: 'pool',
      metric: 'cpuUs',
      unit: 'µs',
      compared: ratioTo(bare),
      bound: null,
    },
    {
      what: '… against a plain server of the same duties',
      row: 'pool',
      metric: 'cpuUs',
      unit: 'µs',
      compared: ratioTo(plain),
      bound: atMost(0.9),
    },
  ],
  watched: [
    {
      what: 'CPU of a wakeup',
      row: 'pool',
      metric: 'cpuUs',
      unit: 'µs',
      peer: { row: bare, metric: 'cpuUs' },
    },
    {
      what: 'Wakeup to the device, idle p50',
      row: 'pool',
      metric: 'idleP50',
      unit: 'ms',
      peer: { row: bare, metric: 'idleP50' },
      isUnsteady: true,
    },
  ],
  measure,
};
