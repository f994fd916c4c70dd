/** Figure: queries, logins and sessions of one server that is several processes, against one process alone. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CpuTally, familyOf, membersOf, type Relative } from './family.ts';
import type { Figure, Target } from './figure.ts';
import type { Plan } from './plan.ts';
import { expectNoneLost, logIn, loginConcurrency, startPlayers, type Players } from './players.ts';
import { microsEach } from './process-time.ts';
import { queryConnections } from './query-backend.ts';
import { interleave } from './rounds.ts';
import { ratio, Samples } from './samples.ts';
import { startReveille, type ReveilleServer } from './servers.ts';
import { Trouble } from './trouble.ts';

interface Contender {
  readonly name: string;
  /** Null: alone. */
  readonly processes: number | null;
}

const alone: Contender = { name: 'alone', processes: null };
const several: readonly Contender[] = [
  { name: '--processes 1', processes: 1 },
  { name: '--processes 2', processes: 2 },
];
const unpinned = null;
const settleMs = 1000;

export async function measureProcesses(plan: Plan): Promise<Figure> {
  const samples = new Samples();
  const trouble = new Trouble();
  await interleave([alone, ...several], plan.runs, async (contender) => {
    samples.add(contender.name, await measure(contender, plan, trouble));
  });
  return describe(plan, samples, trouble);
}

async function measure(
  { name, processes }: Contender,
  plan: Plan,
  trouble: Trouble,
): Promise<Record<string, number>> {
  const devices = plan.processes.sessions;
  const server = await startReveille({ devices, core: unpinned, ...(processes !== null && { processes }) });
  const fleet = startPlayers(unpinned);
  try {
    const relatives = await familyOf(server);
    const logins = await measureLogins(name, server, { fleet, relatives, plan, trouble });
    await fleet.service.ask('heartbeats', 1);
    await sleep(settleMs);
    const queries = await measureQueries(name, server, { relatives, plan, trouble });
    await expectNoneLost(fleet, name, trouble);
    return { ...logins, ...queries, ...(await spread(name, server, devices, trouble)) };
  } finally {
    await server.stop();
    await fleet.child.stop();
  }
}

interface Site {
  readonly relatives: readonly Relative[];
  readonly plan: Plan;
  readonly trouble: Trouble;
}

async function measureLogins(
  name: string,
  server: ReveilleServer,
  { fleet, relatives, plan, trouble }: Site & { readonly fleet: Players },
): Promise<Record<string, number>> {
  const count = plan.processes.sessions;
  const [load, spent] = [playersTally(fleet), new CpuTally(relatives)];
  const reading = await logIn(fleet, { port: server.devicePort, dialect: 'reveille', count }, trouble);
  const [servers, generator] = [spent.read(), load.read()];
  const seconds = (reading.endedMs - reading.startedMs) / 1000;
  const supervising =
    relatives.length > 1 ? { loginSupervisorUs: microsEach(spent.read('supervisor'), count) } : {};
  trouble.expectLoggedIn(name, count, reading.loggedIn);
  return {
    loginRate: count / seconds,
    loginCpuUs: microsEach(servers, count),
    loginsPerCpuSecond: count / servers,
    loginLoadUs: microsEach(generator, count),
    loginCores: (servers + generator) / seconds,
    ...supervising,
  };
}

async function measureQueries(
  name: string,
  { httpPort: port }: ReveilleServer,
  { relatives, plan, trouble }: Site,
): Promise<Record<string, number>> {
  const { sessions: devices, dates, warmUpSeconds, seconds } = plan.processes;
  const backend = startPlayers(unpinned);
  try {
    await backend.service.ask('signQueries', { kind: 'connectivity', devices, dates });
    const shape = { port, connections: queryConnections, ratePerSecond: null };
    await backend.service.ask('query', { ...shape, seconds: warmUpSeconds });
    const [load, spent] = [playersTally(backend), new CpuTally(relatives)];
    const reading = await backend.service.ask('query', { ...shape, seconds });
    const [servers, generator] = [spent.read(), load.read()];
    trouble.expectGoodAnswers(name, reading);
    const { count, p50Ms, p99Ms } = reading.latency;
    return {
      queryRate: reading.ratePerSecond,
      queryCpuUs: microsEach(servers, count),
      queriesPerCpuSecond: count / servers,
      queryLoadUs: microsEach(generator, count),
      queryCores: (servers + generator) / reading.seconds,
      p50: p50Ms,
      p99: p99Ms,
    };
  } finally {
    await backend.child.stop();
  }
}

/** Of those that have sessions at all, the least and the most. */
async function spread(
  name: string,
  server: ReveilleServer,
  devices: number,
  trouble: Trouble,
): Promise<Record<string, number>> {
  const workers = (await membersOf(server)).filter(({ role }) => role !== 'coordinator');
  const held = workers.map(({ sleep_sessions: sessions }) => sessions ?? 0);
  const sum = held.reduce((all, one) => all + one, 0);
  if (held.length > 0) trouble.expectLoggedIn(name, devices, sum);
  return held.length > 0 ? { least: Math.min(...held), most: Math.max(...held) } : {};
}

function playersTally({ child }: Players): CpuTally {
  return new CpuTally([{ name: 'players', pid: child.process.pid ?? 0 }]);
}

function describe({ processes }: Plan, samples: Samples, trouble: Trouble): Figure {
  const { sessions, dates, seconds } = processes;
  return {
    name: 'processes',
    title: 'Several processes: queries, logins, sessions',
    notes: [
      `A burst of ${sessions} logins into a fresh server, ${loginConcurrency} under way at once; then ${sessions * dates} ` +
        `distinct signed connectivity queries about them over ${queryConnections} keep-alive connections in a closed loop, ` +
        `${seconds} s after a warm-up. Default settings; none may be lost.`,
      'Nothing is pinned: servers and load share the machine’s processors, and the load is one Node process. What it took ' +
        'stands beside what the servers took: where both together use all processors, only the CPU per unit can be compared.',
      'Server CPU is that of all its processes: supervisor, coordinator, workers and the spare.',
      'With two workers every other query is about a device of the other one, which is asked.',
    ],
    columns: [
      { metric: 'loginRate', title: 'logins/s', digits: 0 },
      { metric: 'loginCpuUs', title: 'server CPU µs/login', digits: 1 },
      { metric: 'loginSupervisorUs', title: 'the supervisor’s', digits: 1 },
      { metric: 'loginLoadUs', title: 'load CPU µs/login', digits: 1 },
      { metric: 'loginCores', title: 'processors used by both', digits: 2 },
      { metric: 'least', title: 'sessions of a worker, least', digits: 0 },
      { metric: 'most', title: 'most', digits: 0 },
      { metric: 'queryRate', title: 'queries/s', digits: 0 },
      { metric: 'queryCpuUs', title: 'server CPU µs/query', digits: 1 },
      { metric: 'queryLoadUs', title: 'load CPU µs/query', digits: 1 },
      { metric: 'queryCores', title: 'processors used by both', digits: 2 },
      { metric: 'p50', title: 'p50 ms', digits: 2 },
      { metric: 'p99', title: 'p99 ms', digits: 2 },
    ],
    samples,
    targets: several.flatMap(({ name }) => [
      against(samples, name, 'queryRate', 'queries/s'),
      against(samples, name, 'queriesPerCpuSecond', 'queries per server CPU-second'),
      against(samples, name, 'loginRate', 'logins/s'),
      against(samples, name, 'loginsPerCpuSecond', 'logins per server CPU-second'),
    ]),
    trouble: trouble.list,
  };
}

function against(samples: Samples, name: string, metric: string, what: string): Target {
  return {
    what: `${name} / alone, ${what}`,
    measured: samples.compare(metric, name, alone.name, ratio),
    bound: null,
    digits: 2,
  };
}
