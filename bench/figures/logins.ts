/** Bursts of logins, into a fresh server and into a warm one, against bare sockets and MQTT's CONNECT. */
import { setTimeout as sleep } from 'node:timers/promises';
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
import { expectNoneLost, logIn, startPlayers, type Players } from '../load/players.ts';

const counts = { full: 15_000, smoke: 300 };

interface Contender {
  readonly row: string;
  readonly dialect: DialectName;
  readonly start: (devices: number) => Promise<ServerUnderTest>;
}

const contenders: readonly Contender[] = [
  { row: 'bare accept', dialect: 'silent', start: () => startPeer('bare-net') },
  { row: 'bare exchange', dialect: 'reveille', start: () => startPeer('bare-exchange') },
  { row: 'aedes', dialect: 'mqtt', start: () => startPeer('aedes') },
  { row: 'Reveille', dialect: 'reveille', start: (devices) => startReveille({ devices }) },
];

function measure({ scale, runs, samples, trouble }: Measurement): Promise<void> {
  return interleave(contenders, runs, async (contender) => {
    const { row } = contender;
    const [fresh, warm] = await measureOne(contender, counts[scale], trouble);
    samples.add(row, fresh);
    samples.add(warmRow(row), warm);
  });
}

function warmRow(row: string): string {
  return `${row}, warm`;
}

type Figures = Record<'rate' | 'cpuUs' | 'perCpuSecond' | 'busy', number>;

async function measureOne(
  { row, dialect, start }: Contender,
  count: number,
  trouble: Trouble,
): Promise<[fresh: Figures, warm: Figures]> {
  const server = await start(count);
  const fleet = startPlayers();
  try {
    await fleet.service.ask('lost', null);
    const fresh = await measureBurst(server, fleet, dialect, count, 0, trouble);
    await fleet.service.ask('hangUp', null);
    await rest(server);
    const warm = await measureBurst(server, fleet, dialect, count, count, trouble);
    await expectNoneLost(fleet, row, trouble);
    return [fresh, warm];
  } finally {
    await server.stop();
    await fleet.stop();
  }
}

/** `before`: devices that the server has accepted in earlier bursts. */
async function measureBurst(
  server: ServerUnderTest,
  fleet: Players,
  dialect: DialectName,
  count: number,
  before: number,
  trouble: Trouble,
): Promise<Figures> {
  const { probe } = server.child;
  await probe.ask('reset', null);
  // A silent server confirms no login: use its own count.
  const allConnected = dialect === 'silent' ? server.connected?.(before + count) : null;
  const reading = await logIn(fleet, { port: server.devicePort, dialect, count }, trouble);
  const endedMs = Math.max(reading.endedMs, (await allConnected) ?? 0);
  const spent = await probe.ask('read', null);
  return {
    rate: reading.loggedIn / ((endedMs - reading.startedMs) / 1000),
    cpuUs: (spent.cpuSeconds / count) * 1e6,
    perCpuSecond: count / spent.cpuSeconds,
    busy: (spent.cpuSeconds / spent.wallSeconds) * 100,
  };
}

const restMs = 500;
const restCpuShareMax = 0.05;

/** Resolves when the server has little left to do. */
async function rest({ child: { probe } }: ServerUnderTest): Promise<void> {
  for (;;) {
    await probe.ask('reset', null);
    await sleep(restMs);
    const { cpuSeconds, wallSeconds } = await probe.ask('read', null);
    if (cpuSeconds <= wallSeconds * restCpuShareMax) return;
  }
}

export const logins: Benchmark = {
  title: 'Logins',
  runs: 5,
  notes: [
    `A burst of ${counts.full} devices into a fresh server, ${loginConcurrency} under way at once, from ${sourceAddresses} addresses, from ` +
      'connect to OK; none may be lost. Bare accept: `node:net` holds the socket. Bare exchange: it also sends a session key, reads ' +
      'the login line and answers OK, unchecked. aedes: CONNECT to CONNACK, no authentication.',
    'Warm: the same burst once more, into the same server, after all have hung up. In the fresh one V8’s threads compile while the burst runs.',
  ],
  columns: [
    { metric: 'rate', title: 'logins/s', digits: 0 },
    { metric: 'cpuUs', title: 'server CPU µs/login', digits: 1 },
    { metric: 'perCpuSecond', title: 'logins per CPU-second', digits: 0 },
    { metric: 'busy', title: 'busy %', digits: 0 },
  ],
  targets: [
    {
      what: 'Logins per CPU-second into a fresh server, against aedes (MQTT, no proof)',
      row: 'Reveille',
      metric: 'perCpuSecond',
      unit: '/s',
      compared: ratioTo('aedes'),
      bound: atLeast(2),
    },
    {
      what: '… into a warm one',
      row: warmRow('Reveille'),
      metric: 'perCpuSecond',
      unit: '/s',
      compared: ratioTo(warmRow('aedes')),
      bound: atLeast(2.2),
    },
    {
      what: 'CPU of a login into a warm server, against the bare exchange',
      row: warmRow('Reveille'),
      metric: 'cpuUs',
      unit: 'µs',
      compared: ratioTo(warmRow('bare exchange')),
      bound: atMost(2.5),
    },
    {
      what: '… against accepting a socket',
      row: warmRow('Reveille'),
      metric: 'cpuUs',
      unit: 'µs',
      compared: ratioTo(warmRow('bare accept')),
      bound: null,
    },
  ],
  measure,
};
