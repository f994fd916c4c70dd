/**
 * Figure: what a sleeping device costs in memory, its login and its wakeup in CPU, the more of them there are: at one process,
 * and at as many processes as it takes for the most.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { pin, serverCore } from './child.ts';
import { CpuTally, familyOf, membersOf, memoryOf, pssAtRest, type Relative } from './family.ts';
import type { Figure } from './figure.ts';
import type { Plan } from './plan.ts';
import { expectNoneLost, loginConcurrency, logIn, startPlayers, type Players } from './players.ts';
import { microsEach } from './process-time.ts';
import { difference, ratio, Samples } from './samples.ts';
import { startReveille, type ReveilleServer } from './servers.ts';
import { Trouble } from './trouble.ts';
import { raisedWakeupLimits, wakeConnections } from './wake-figure.ts';

/** A worker that is full turns a device away; the next try comes to another one. */
const triesMax = 50;
const settleMs = 2000;
const mebibyte = 1024 * 1024;

/** A server while it fills. */
interface Site {
  readonly server: ReveilleServer;
  readonly relatives: readonly Relative[];
  /** The first plays those that are woken, and who wakes them. */
  readonly players: readonly Players[];
  readonly emptyPss: number;
  readonly plan: Plan;
  readonly samples: Samples;
  readonly trouble: Trouble;
}

export async function measureSessions(plan: Plan): Promise<Figure> {
  const samples = new Samples();
  const trouble = new Trouble();
  const { levels, processes, sessionsOfProcess } = plan.sessions;
  const most = processes * sessionsOfProcess;
  for (let run = 0; run < plan.runs; run += 1) {
    await fill(null, levels, { plan, samples, trouble });
    await fill(processes, [most], { plan, samples, trouble });
  }
  return describe(plan, samples, trouble);
}

function rowOf(processes: number | null, sessions: number): string {
  const server = processes === null ? 'alone' : `--processes ${processes}`;
  return `${server}, ${sessions.toLocaleString('en-US')} sessions`;
}

/** One server, filled from level to level. */
async function fill(
  processes: number | null,
  levels: readonly number[],
  common: Pick<Site, 'plan' | 'samples' | 'trouble'>,
): Promise<void> {
  const devices = levels.at(-1) ?? 0;
  const count = processes ?? 1;
  const env = raisedWakeupLimits;
  const server = await startReveille({ devices, core: null, env, ...(processes !== null && { processes }) });
  const players = Array.from({ length: count }, () => startPlayers());
  try {
    const relatives = await familyOf(server);
    for (const { pid } of relatives) pin(pid, serverCore);
    await sleep(settleMs);
    const site: Site = {
      server,
      relatives,
      players,
      emptyPss: await pssAtRest(relatives, common.plan.restSeconds),
      ...common,
    };
    let held = 0;
    for (const level of levels) {
      await measureLevel(rowOf(processes, level), { from: held, to: level }, site);
      held = level;
    }
    if (processes !== null) await measureFull(rowOf(processes, held), held, site);
  } finally {
    await server.stop();
    await Promise.all(players.map(({ child }) => child.stop()));
  }
}

interface Step {
  readonly from: number;
  readonly to: number;
}

async function measureLevel(row: string, { from, to }: Step, site: Site): Promise<void> {
  const { relatives, players, emptyPss, plan, samples, trouble } = site;
  const tally = new CpuTally(relatives);
  const startMs = performance.now();
  const again = await logInAll({ from, to }, site);
  const seconds = (performance.now() - startMs) / 1000;
  await sleep(settleMs);
  const login = microsEach(tally.read(), to - from);
  const pss = await pssAtRest(relatives, plan.restSeconds);
  samples.add(row, {
    sessions: to,
    pssBytes: (pss - emptyPss) / to,
    loginUs: login,
    loginRate: (to - from) / seconds,
    again,
    ...(await wake(row, to / players.length, site)),
  });
  for (const one of players) await expectNoneLost(one, row, trouble);
}

/** Each player has its share of the devices; gives how many tried again. */
async function logInAll(
  { from, to }: Step,
  { server, players, trouble }: Pick<Site, 'server' | 'players' | 'trouble'>,
): Promise<number> {
  const share = (to - from) / players.length;
  const concurrency = Math.ceil(loginConcurrency / players.length);
  const readings = await Promise.all(
    players.map((one, place) => {
      const login = { port: server.devicePort, dialect: 'reveille', concurrency, triesMax } as const;
      return logIn(one, { ...login, from: from + place * share, count: share }, trouble);
    }),
  );
  return readings.reduce((sum, reading) => sum + reading.again, 0);
}

/** Of the first player's devices, in turn. */
async function wake(
  row: string,
  devices: number,
  { server, relatives, players: [players], plan, trouble }: Site,
): Promise<Record<string, number>> {
  if (players === undefined) throw new Error('nobody to wake');
  const { ratePerSecond, warmUpSeconds, seconds } = plan.sessions;
  const { service } = players;
  await service.ask('signWakeups', { devices, count: Math.ceil((warmUpSeconds + seconds) * ratePerSecond) });
  const shape = { port: server.httpPort, connections: wakeConnections, ratePerSecond };
  const warmUp = await service.ask('wakeAtRate', { ...shape, seconds: warmUpSeconds });
  const tally = new CpuTally(relatives);
  const reading = await service.ask('wakeAtRate', { ...shape, seconds });
  const wakeupUs = microsEach(tally.read(), reading.wake.count);
  for (const one of [warmUp, reading]) trouble.expectGoodWakes(row, one);
  return { wakeupUs, wakeupP50: reading.wake.p50Ms, wakeupP99: reading.wake.p99Ms };
}

/** All of them send heartbeats, and none may be lost by it; then what each process has. */
async function measureFull(row: string, sessions: number, site: Site): Promise<void> {
  const { server, relatives, players, plan, samples, trouble } = site;
  const { heartbeatSeconds: everySeconds, fullSeconds: seconds } = plan.sessions;
  const tally = new CpuTally(relatives);
  const sent = await Promise.all(
    players.map(({ service }) => service.ask('heartbeatCalmly', { seconds, everySeconds })),
  );
  const heartbeats = sent.reduce((sum, own) => sum + own, 0);
  const busy = (tally.read() / seconds) * 100;
  for (const one of players) await expectNoneLost(one, row, trouble);
  const workers = (await membersOf(server)).filter(({ role }) => role === 'worker');
  const held = workers.map(({ sleep_sessions: own }) => own ?? 0);
  const sum = held.reduce((all, own) => all + own, 0);
  trouble.expectLoggedIn(row, sessions, sum);
  const mean = sum / held.length;
  const off = Math.max(...held.map((own) => Math.abs(own - mean)));
  samples.add(row, { held: sum, heartbeats: heartbeats / seconds, busy, spread: (off / mean) * 100 });
  const family = await familyOf(server);
  const pss = new Map(family.map(({ name, pid }) => [name, memoryOf(pid).pssBytes / mebibyte]));
  const ofWorkers = [...pss].filter(([name]) => name.startsWith('worker')).map(([, own]) => own);
  samples.add('its worker, mean', { pss: ofWorkers.reduce((all, own) => all + own, 0) / ofWorkers.length });
  for (const name of ['coordinator', 'supervisor', 'spare'])
    samples.add(`its ${name}`, { pss: pss.get(name) ?? 0 });
}

/** Of the issue: PSS of a sleeping device by that of one process that is as full. */
const pssRatioMax = 1.1;
const spreadPercentMax = 10;

function describe(plan: Plan, samples: Samples, trouble: Trouble): Figure {
  const { levels, processes, sessionsOfProcess, seconds, ratePerSecond, heartbeatSeconds, fullSeconds } =
    plan.sessions;
  const most = rowOf(processes, processes * sessionsOfProcess);
  const full = rowOf(null, levels.at(-1) ?? 0);
  return {
    name: 'sessions',
    title: 'The more sleeping devices',
    notes: [
      'One server fills from level to level, and a fresh one of several processes in one go. All of its processes are on one ' +
        'core, the load on the other; CPU is that of all processes.',
      'Memory: the growth of PSS of all processes since before the first login, each time behind a rest and two forced collections, by the ' +
        'number of sessions. PSS is a process’s own memory and its share of what it has in common with others; what the kernel ' +
        'keeps for sockets is not in it.',
      `Logins: from the level before, ${loginConcurrency} under way at once; those of the first level have a cold process. Wakeups: ` +
        `${ratePerSecond}/s for ${seconds} s.`,
      `With the most, ${fullSeconds} s with a heartbeat of each device every ${heartbeatSeconds} s, after which all must be there. ` +
        'Busy: all processes, of one core. Off the mean: the worker that is furthest off.',
    ],
    columns: [
      { metric: 'pssBytes', title: 'PSS bytes/session', digits: 0 },
      { metric: 'loginUs', title: 'CPU µs/login', digits: 1 },
      { metric: 'loginRate', title: 'logins/s', digits: 0 },
      { metric: 'again', title: 'tried again', digits: 0 },
      { metric: 'wakeupUs', title: 'CPU µs/wakeup', digits: 1 },
      { metric: 'wakeupP50', title: 'p50 ms', digits: 3 },
      { metric: 'wakeupP99', title: 'p99 ms', digits: 3 },
      { metric: 'heartbeats', title: 'heartbeats/s', digits: 0 },
      { metric: 'busy', title: 'busy %', digits: 0 },
      { metric: 'spread', title: 'off the mean %', digits: 1 },
      { metric: 'pss', title: 'PSS, MiB', digits: 0 },
    ],
    samples,
    targets: [
      {
        what: `${most} / ${full}, PSS of a sleeping device`,
        measured: samples.compare('pssBytes', most, full, ratio),
        bound: { kind: 'at most', value: pssRatioMax },
        digits: 2,
      },
      {
        what: `${most}, sessions held after it`,
        measured: samples.compare('held', most, most, (own) => own),
        bound: { kind: 'at least', value: processes * sessionsOfProcess },
        digits: 0,
      },
      {
        what: `${most}, sessions of a worker off the mean, %`,
        measured: samples.compare('spread', most, most, (own) => own),
        bound: { kind: 'at most', value: spreadPercentMax },
        digits: 1,
      },
      {
        what: `${most} − ${full}, p50 of a wakeup, ms`,
        measured: samples.compare('wakeupP50', most, full, difference),
        bound: null,
        digits: 3,
      },
    ],
    trouble: trouble.list,
  };
}
