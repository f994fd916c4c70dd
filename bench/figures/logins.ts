/** A burst of logins, against accepting sockets and MQTT's CONNECT. */
import {
  atLeast,
  atMost,
  interleave,
  ratioTo,
  type Benchmark,
  type Measurement,
} from '../harness/benchmark.ts';
import { startPeer, startReveille, type ServerUnderTest } from '../harness/servers.ts';
import type { Trouble } from '../harness/trouble.ts';
import type { DialectName } from '../load/dialects.ts';
import { loginConcurrency, sourceAddresses } from '../load/fleet.ts';
import { expectNoneLost, logIn, startPlayers } from '../load/players.ts';

const counts = { full: 15_000, smoke: 300 };

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

function measure({ scale, runs, samples, trouble }: Measurement): Promise<void> {
  return interleave(contenders, runs, async (contender) =>
    samples.add(contender.row, await measureOne(contender, counts[scale], trouble)),
  );
}

async function measureOne(
  { row, dialect, start }: Contender,
  count: number,
  trouble: Trouble,
): Promise<Record<string, number>> {
  const server = await start(count);
  const fleet = startPlayers();
  try {
    await fleet.service.ask('lost', null);
    await server.child.probe.ask('reset', null);
    // A silent server confirms no login: use its own count.
    const allConnected = dialect === 'silent' ? server.connected?.(count) : null;
    const reading = await logIn(fleet, { port: server.devicePort, dialect, count }, trouble);
    const endedMs = Math.max(reading.endedMs, (await allConnected) ?? 0);
    const spent = await server.child.probe.ask('read', null);
    await expectNoneLost(fleet, row, trouble);
    return {
      rate: reading.loggedIn / ((endedMs - reading.startedMs) / 1000),
      cpuUs: (spent.cpuSeconds / count) * 1e6,
      perCpuSecond: count / spent.cpuSeconds,
      busy: (spent.cpuSeconds / spent.wallSeconds) * 100,
    };
  } finally {
    await server.stop();
    await fleet.stop();
  }
}

export const logins: Benchmark = {
  title: 'Logins',
  runs: 5,
  notes: [
    `A burst of ${counts.full} devices into a fresh server, ${loginConcurrency} under way at once, from ${sourceAddresses} addresses, from ` +
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
  measure,
};
