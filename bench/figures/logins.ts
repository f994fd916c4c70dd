/** A burst of logins, against accepting sockets and MQTT's CONNECT. */
import {
  atLeast,
  atMost,
  contendersIn,
  interleave,
  ratioTo,
  type AnyScale,
  type Benchmark,
  type Measurement,
} from '../harness/benchmark.ts';
import { startPeer, startReveille, type ServerUnderTest } from '../harness/servers.ts';
import type { Trouble } from '../harness/trouble.ts';
import type { DialectName } from '../load/dialects.ts';
import { loginConcurrency, sourceAddresses } from '../load/fleet.ts';
import { expectNoneLost, logIn, startPlayers, type Players } from '../load/players.ts';

/** `warmUp`: devices that log in before those that are measured. */
const plans = {
  full: { warmUp: 0, count: 15_000 },
  short: { warmUp: 6000, count: 8000 },
  smoke: { warmUp: 0, count: 300 },
};
const heartbeats = { seconds: 1, everySeconds: 0.4 };

interface Contender {
  readonly row: string;
  readonly dialect: DialectName;
  readonly start: (devices: number) => Promise<ServerUnderTest>;
}

const contenders: readonly Contender[] = [
  { row: 'bare accept', dialect: 'silent', start: () => startPeer('bare-net') },
  { row: 'aedes', dialect: 'mqtt', start: () => startPeer('aedes') },
  { row: 'Reveille', dialect: 'reveille', start: (devices) => startReveille({ devices }) },
];

function measure(measurement: Measurement<AnyScale>): Promise<void> {
  const { scale, runs, samples, trouble } = measurement;
  return interleave(contendersIn(measurement, contenders), runs, async (contender) =>
    samples.add(contender.row, await measureOne(contender, plans[scale], trouble)),
  );
}

async function measureOne(
  { row, dialect, start }: Contender,
  { warmUp, count }: (typeof plans)['full'],
  trouble: Trouble,
): Promise<Record<string, number>> {
  const server = await start(warmUp + count);
  const fleet = startPlayers();
  try {
    const port = server.devicePort;
    await logIn(fleet, { port, dialect, count: warmUp }, trouble);
    const before = await server.child.probe.ask('memory', null);
    await server.child.probe.ask('reset', null);
    // A silent server confirms no login: use its own count.
    const allConnected = dialect === 'silent' ? server.connected?.(warmUp + count) : null;
    const reading = await logIn(fleet, { port, dialect, from: warmUp, count }, trouble);
    const endedMs = Math.max(reading.endedMs, (await allConnected) ?? 0);
    const spent = await server.child.probe.ask('read', null);
    const after = await server.child.probe.ask('memory', null);
    const heartbeatUs = await measureHeartbeats(fleet, server, warmUp + count);
    await expectNoneLost(fleet, row, trouble);
    return {
      rate: reading.loggedIn / ((endedMs - reading.startedMs) / 1000),
      cpuUs: (spent.cpuSeconds / count) * 1e6,
      perCpuSecond: count / spent.cpuSeconds,
      busy: (spent.cpuSeconds / spent.wallSeconds) * 100,
      liveBytes: (after.liveBytes - before.liveBytes) / count,
      heartbeatUs,
    };
  } finally {
    await server.stop();
    await fleet.stop();
  }
}

/** The peers: `node:net` discards them, aedes answers MQTT's. */
async function measureHeartbeats(
  { service }: Players,
  { child }: ServerUnderTest,
  count: number,
): Promise<number> {
  await service.ask('heartbeats', heartbeats);
  await child.probe.ask('reset', null);
  await service.ask('heartbeats', heartbeats);
  const { cpuSeconds } = await child.probe.ask('read', null);
  const sent = (count * heartbeats.seconds) / heartbeats.everySeconds;
  return (cpuSeconds / sent) * 1e6;
}

export const logins: Benchmark = {
  title: 'Logins',
  runs: 5,
  notes: [
    `A burst of ${plans.full.count} devices into a fresh server, ${loginConcurrency} under way at once, from ${sourceAddresses} addresses, from ` +
      'connect to OK; none may be lost. Bare accept: `node:net` holds the socket. aedes: CONNECT to CONNACK, no authentication.',
  ],
  columns: [
    { metric: 'rate', title: 'logins/s', digits: 0 },
    { metric: 'cpuUs', title: 'server CPU µs/login', digits: 1 },
    { metric: 'perCpuSecond', title: 'logins per CPU-second', digits: 0 },
    { metric: 'busy', title: 'busy %', digits: 0 },
  ],
  targets: [
    {
      what: 'Logins per CPU-second, against aedes (MQTT, no proof)',
      row: 'Reveille',
      metric: 'perCpuSecond',
      unit: '/s',
      compared: ratioTo('aedes'),
      bound: atLeast(2),
    },
    {
      what: 'CPU of a login, against accepting a socket',
      row: 'Reveille',
      metric: 'cpuUs',
      unit: 'µs',
      compared: ratioTo('bare accept'),
      bound: atMost(3),
    },
  ],
  watched: [
    {
      what: 'Memory of a sleeping device, alive',
      row: 'Reveille',
      metric: 'liveBytes',
      unit: 'B',
      peer: { row: 'aedes', metric: 'liveBytes' },
    },
    {
      what: 'CPU of a login',
      row: 'Reveille',
      metric: 'cpuUs',
      unit: 'µs',
      peer: { row: 'aedes', metric: 'cpuUs' },
    },
    {
      what: 'CPU of a heartbeat',
      row: 'Reveille',
      metric: 'heartbeatUs',
      unit: 'µs',
      peer: { row: 'aedes', metric: 'heartbeatUs' },
      isUnsteady: true,
    },
  ],
  measure,
};
