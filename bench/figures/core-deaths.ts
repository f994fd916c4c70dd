/** Kills a core while its edges hold many sleeping devices: logins, wakeups, and the first wakeup of the next core. */
import { atMost, type Benchmark, type Measurement } from '../harness/benchmark.ts';
import { monotonicMs } from '../harness/latency.ts';
import { raisedWakeupLimits, startReveille, type ServerUnderTest } from '../harness/servers.ts';
import { SiteProcesses } from '../harness/site-processes.ts';
import { expectNoneLost, logIn, startPlayers, type Players } from '../load/players.ts';

interface Crowd {
  readonly row: string;
  readonly devices: number;
  readonly edges: number;
}

const crowds = {
  full: [
    { row: '20 000 devices, 2 edges', devices: 20_000, edges: 2 },
    { row: '150 000 devices, 8 edges', devices: 150_000, edges: 8 },
  ],
  smoke: [{ row: '200 devices, 2 edges', devices: 200, edges: 2 }],
} satisfies Record<string, readonly Crowd[]>;

const plans = {
  full: { woken: 1000, seconds: 10 },
  smoke: { woken: 20, seconds: 2 },
};

/** Below the 20 000 descriptors of a process. */
const devicesPerPlayerMax = 18_750;
/** A full edge may refuse a module before it stops accepting on the shared port. */
const loginAttempts = 20;
/** Longer than the rest of a measurement, at the interval of known modules. */
const heartbeats = { seconds: 600, everySeconds: 45 };
const wakeConnections = 64;
const attemptsMax = 500;

async function measure(measurement: Measurement): Promise<void> {
  const { scale, runs } = measurement;
  for (let run = 0; run < runs; run += 1)
    for (const crowd of crowds[scale]) await measureCrowd(crowd, measurement);
}

async function measureCrowd(crowd: Crowd, measurement: Measurement): Promise<void> {
  const { row, devices, edges } = crowd;
  const server = await startReveille({ devices, edges, core: null, isBare: true, env: raisedWakeupLimits });
  const players = Array.from({ length: Math.ceil(devices / devicesPerPlayerMax) }, startPlayers);
  try {
    const loginSeconds = await logInAll(server, players, crowd, measurement);
    const woken = await killCore(server, players[0] as Players, crowd, measurement);
    for (const one of players) await expectNoneLost(one, row, measurement.trouble);
    measurement.samples.add(row, { loginSeconds, loginRate: devices / loginSeconds, ...woken });
  } finally {
    await server.stop();
    await Promise.all(players.map((one) => one.stop()));
  }
}

/** Returns the seconds until the last login, and starts the heartbeats. */
async function logInAll(
  server: ServerUnderTest,
  players: readonly Players[],
  { devices }: Crowd,
  { trouble }: Measurement,
): Promise<number> {
  const share = Math.ceil(devices / players.length);
  const plan = { port: server.devicePort, dialect: 'reveille', attempts: loginAttempts } as const;
  const readings = await Promise.all(
    players.map(async (one, place) => {
      const from = place * share;
      const reading = await logIn(one, { ...plan, from, count: Math.min(share, devices - from) }, trouble);
      // The heartbeats end with their process.
      one.service.ask('heartbeats', heartbeats).catch(() => undefined);
      return reading;
    }),
  );
  const startedMs = Math.min(...readings.map((reading) => reading.startedMs));
  return (Math.max(...readings.map((reading) => reading.endedMs)) - startedMs) / 1000;
}

/** One wakeup per second for each of some devices, before and after the kill. */
async function killCore(
  server: ServerUnderTest,
  { service }: Players,
  { row }: Crowd,
  { scale, trouble }: Measurement,
): Promise<Record<string, number>> {
  const { woken, seconds } = plans[scale];
  const port = server.httpPort;
  const shape = { port, connections: wakeConnections, ratePerSecond: woken };
  await service.ask('signWakeups', { devices: woken, count: woken * (seconds + 1) + attemptsMax });
  const before = await service.ask('wakeAtRate', { ...shape, seconds });
  const { core } = new SiteProcesses(server.child);
  const killedMs = monotonicMs();
  process.kill(core, 'SIGKILL');
  const goodMs = await service.ask('wakeUntilGood', { port });
  const after = await service.ask('wakeAtRate', { ...shape, seconds: 1 });
  for (const reading of [before, after]) trouble.expectGoodWakes(row, reading);
  return {
    wakeP50: before.wake.p50Ms,
    wakeP99: before.wake.p99Ms,
    backSeconds: (goodMs - killedMs) / 1000,
    afterP99: after.wake.p99Ms,
  };
}

const { woken, seconds } = plans.full;

export const coreDeaths: Benchmark = {
  title: 'The core is killed while edges hold a crowd',
  runs: 1,
  notes: [
    `A server as built (\`npm run build\` first), pinned to no core. Wakeups: ${woken}/s over ${woken} devices for ${seconds} s; then the core is killed with SIGKILL, ` +
      'and wakeups are tried until one reaches its device; none of the sessions may be lost.',
  ],
  columns: [
    { metric: 'loginSeconds', title: 'all logged in, s', digits: 1 },
    { metric: 'loginRate', title: 'logins/s', digits: 0 },
    { metric: 'wakeP50', title: 'wakeup p50 ms', digits: 2 },
    { metric: 'wakeP99', title: 'p99 ms', digits: 1 },
    { metric: 'backSeconds', title: 'killed: first good wakeup, s', digits: 2 },
    { metric: 'afterP99', title: 'wakeup p99 ms behind it', digits: 1 },
  ],
  targets: crowds.full.map(({ row, devices }) => ({
    what: `Core killed: first good wakeup with ${row}`,
    row,
    metric: 'backSeconds',
    unit: 's',
    compared: { kind: 'alone' },
    bound: atMost(devices > 100_000 ? 6 : 2),
  })),
  measure,
};
