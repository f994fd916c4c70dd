/** Bursts of logins, into a fresh server and into a warm one, against bare sockets and MQTT's CONNECT. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  atMost,
  contendersIn,
  interleave,
  ratioTo,
  type AnyScale,
  type Benchmark,
  type Measurement,
} from '../harness/benchmark.ts';
import { plainServer, startPeer, startReveille, type ServerUnderTest } from '../harness/servers.ts';
import type { Trouble } from '../harness/trouble.ts';
import type { DialectName } from '../load/dialects.ts';
import { loginConcurrency, sourceAddresses } from '../load/fleet.ts';
import { expectNoneLost, logIn, startPlayers, type Players } from '../load/players.ts';

/** `warmUp`: devices that log in before those that are measured. `isAgain`: the burst comes a second time. */
const plans = {
  full: { warmUp: 0, count: 15_000, isAgain: true },
  short: { warmUp: 3000, count: 4000, isAgain: false },
  smoke: { warmUp: 0, count: 300, isAgain: true },
};
const heartbeats = { seconds: 1, everySeconds: 0.4 };

interface Contender {
  readonly row: string;
  readonly dialect: DialectName;
  readonly start: (devices: number) => Promise<ServerUnderTest>;
}

const contenders: readonly Contender[] = [
  { row: 'bare accept', dialect: 'silent', start: () => startPeer('bare-net') },
  { row: 'bare exchange', dialect: 'reveille', start: () => startPeer('bare-exchange') },
  { row: 'aedes', dialect: 'mqtt', start: () => startPeer('aedes') },
  { row: 'plain', dialect: 'reveille', start: () => startPeer('plain') },
  { row: 'Reveille', dialect: 'reveille', start: (devices) => startReveille({ devices }) },
];

function measure(measurement: Measurement<AnyScale>): Promise<void> {
  const { scale, runs, samples, trouble } = measurement;
  return interleave(contendersIn(measurement, contenders), runs, async (contender) => {
    const [fresh, warm] = await measureOne(contender, plans[scale], trouble);
    samples.add(contender.row, fresh);
    if (warm !== null) samples.add(warmRow(contender.row), warm);
  });
}

function warmRow(row: string): string {
  return `${row}, warm`;
}

type Figures = Record<string, number>;

async function measureOne(
  { row, dialect, start }: Contender,
  { warmUp, count, isAgain }: (typeof plans)['full'],
  trouble: Trouble,
): Promise<[fresh: Figures, warm: Figures | null]> {
  const server = await start(warmUp + count);
  const fleet = startPlayers();
  const burst = (from: number, before: number): Promise<Figures> =>
    measureBurst(server, fleet, { dialect, count, from, before }, trouble);
  try {
    await logIn(fleet, { port: server.devicePort, dialect, count: warmUp }, trouble);
    const fresh = await burst(warmUp, warmUp);
    const heartbeatUs = await measureHeartbeats(fleet, server, warmUp + count);
    await expectNoneLost(fleet, row, trouble);
    if (!isAgain) return [{ ...fresh, heartbeatUs }, null];
    await fleet.service.ask('hangUp', null);
    await rest(server);
    const warm = await burst(0, warmUp + count);
    await expectNoneLost(fleet, row, trouble);
    return [{ ...fresh, heartbeatUs }, warm];
  } finally {
    await server.stop();
    await fleet.stop();
  }
}

interface Burst {
  readonly dialect: DialectName;
  readonly count: number;
  readonly from: number;
  /** Devices that the server has accepted before. */
  readonly before: number;
}

async function measureBurst(
  server: ServerUnderTest,
  fleet: Players,
  { dialect, count, from, before }: Burst,
  trouble: Trouble,
): Promise<Figures> {
  const { probe } = server.child;
  const empty = await probe.ask('memory', null);
  await probe.ask('reset', null);
  // A silent server confirms no login: use its own count.
  const allConnected = dialect === 'silent' ? server.connected?.(before + count) : null;
  const reading = await logIn(fleet, { port: server.devicePort, dialect, from, count }, trouble);
  const endedMs = Math.max(reading.endedMs, (await allConnected) ?? 0);
  const spent = await probe.ask('read', null);
  const full = await probe.ask('memory', null);
  return {
    rate: reading.loggedIn / ((endedMs - reading.startedMs) / 1000),
    cpuUs: (spent.cpuSeconds / count) * 1e6,
    perCpuSecond: count / spent.cpuSeconds,
    busy: (spent.cpuSeconds / spent.wallSeconds) * 100,
    liveBytes: (full.liveBytes - empty.liveBytes) / count,
  };
}

const restMs = 500;
const restTriesMax = 20;
/** An idle server with its samples of the event loop takes 15 % of a slow core. */
const restCpuShareMax = 0.3;

/** Resolves when the server has little left to do, after 10 s at the latest. */
async function rest({ child: { probe } }: ServerUnderTest): Promise<void> {
  for (let tries = 0; tries < restTriesMax; tries += 1) {
    await probe.ask('reset', null);
    await sleep(restMs);
    const { cpuSeconds, wallSeconds } = await probe.ask('read', null);
    if (cpuSeconds <= wallSeconds * restCpuShareMax) return;
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
      'connect to OK; none may be lost. Bare accept: `node:net` holds the socket. Bare exchange: it also sends a session key, reads ' +
      'the login line and answers OK, unchecked. aedes: CONNECT to CONNACK, no authentication.',
    plainServer,
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
      bound: null,
    },
    {
      what: '… into a warm one',
      row: warmRow('Reveille'),
      metric: 'perCpuSecond',
      unit: '/s',
      compared: ratioTo(warmRow('aedes')),
      bound: null,
    },
    {
      what: 'CPU of a login into a warm server, against a plain server of the same duties',
      row: warmRow('Reveille'),
      metric: 'cpuUs',
      unit: 'µs',
      compared: ratioTo(warmRow('plain')),
      bound: atMost(1),
    },
    {
      what: '… against the bare exchange',
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
