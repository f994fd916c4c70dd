/** Storms of modules: after a restart of a server alone, and of a whole city at several processes. */
import { Child, loadCore } from './child.ts';
import { CpuTally, familyOf } from './family.ts';
import type { LocalLegService } from './ipc.ts';
import { monotonicMs } from './peer-protocol.ts';
import type { Plan } from './plan.ts';
import { startPromptPlayers, type Players } from './players.ts';
import { microsEach } from './process-time.ts';
import { tellProgress, tellUntil } from './progress.ts';
import type { Samples } from './samples.ts';
import { startReveille, type ReveilleServer } from './servers.ts';
import { stormService, type Manner, type ReturnReading, type StormProtocol } from './storm-protocol.ts';
import type { Trouble } from './trouble.ts';

export interface StormStudy {
  readonly plan: Plan['storms'];
  readonly samples: Samples;
  readonly trouble: Trouble;
}

export interface Comeback {
  readonly manner: Manner;
  /** Of `sleep.accept_ramp_s`; 0: none. */
  readonly rampSeconds: number;
}

export interface StormProcess {
  readonly child: Child;
  readonly service: LocalLegService<StormProtocol>;
}

const queryConnections = 8;
/** Before there is a storm, as fast as a server likes. */
const calmPerSecondOfProcess = 1500;
const calmPerSecondOfCity = 2500;

/** `core` null: wherever the kernel puts it. */
export function startStormProcess(entry = 'storm-process.ts', core: number | null = loadCore): StormProcess {
  const child = new Child({ entry: new URL(`./${entry}`, import.meta.url), core });
  child.process.stdout?.resume();
  return { child, service: child.service<StormProtocol>(stormService) };
}

/** The server is killed, and all of its modules come back to the one that is started in its place. */
export async function measureRestart(
  row: string,
  { manner, rampSeconds }: Comeback,
  study: StormStudy,
): Promise<void> {
  const { sessions } = study.plan;
  const env = { REVEILLE_SLEEP_ACCEPT_RAMP_S: String(rampSeconds) };
  const first = await startReveille({ devices: sessions, env });
  let server = first;
  const fleet = startStormProcess();
  const backend = startPromptPlayers();
  try {
    await logInCalmly(row, [fleet], { server, sessions, manner, calmPerSecond: calmPerSecondOfProcess });
    await signQueries(backend, sessions);
    tellProgress(`${row}: the server is killed and started anew`);
    const restarting = first.restart();
    await fleet.service.ask('lost', null);
    server = await restarting;
    await fleet.service.ask('mark', null);
    await measureReturn(row, [fleet], { server, backend, study, sessions });
  } finally {
    await server.stop();
    await Promise.all([fleet.child.stop(), backend.child.stop()]);
  }
}

/**
 * All modules of several processes lose their connections in the same moment, once in each manner: the server serves on. Nothing is
 * pinned: what so many logins take is more than one processor has in minutes.
 */
export async function measureCity(
  rowOf: (manner: Manner) => string,
  manners: readonly Manner[],
  study: StormStudy,
): Promise<void> {
  const { processes, sessionsOfProcess } = study.plan;
  const sessions = processes * sessionsOfProcess;
  tellProgress(`a server of ${processes} processes gets ${sessions} devices`);
  const server = await startReveille({ devices: sessions, core: null, processes });
  const fleets = Array.from({ length: processes }, () => startStormProcess('storm-process.ts', null));
  const backend = startPromptPlayers(null);
  try {
    const [manner = 'at once'] = manners;
    await logInCalmly('a city', fleets, { server, sessions, manner, calmPerSecond: calmPerSecondOfCity });
    await signQueries(backend, sessions);
    for (const each of manners) {
      const row = rowOf(each);
      tellProgress(`${row}: all lose their connections`);
      await Promise.all(fleets.map(({ service }) => service.ask('drop', each)));
      await measureReturn(row, fleets, { server, backend, study, sessions });
    }
  } finally {
    await server.stop();
    await Promise.all([...fleets.map(({ child }) => child.stop()), backend.child.stop()]);
  }
}

interface CalmBeginning {
  readonly server: ReveilleServer;
  readonly sessions: number;
  readonly manner: Manner;
  /** Of all together. */
  readonly calmPerSecond: number;
}

/** Each process of modules has its share of them. */
async function logInCalmly(
  row: string,
  crowd: readonly StormProcess[],
  { server, sessions, manner, calmPerSecond }: CalmBeginning,
): Promise<void> {
  tellProgress(`${row}: ${sessions} modules log in`);
  const count = sessions / crowd.length;
  const starting = crowd.map(({ service }, place) =>
    service.ask('start', {
      port: server.devicePort,
      from: place * count,
      count,
      devices: sessions,
      manner,
      calmPerSecond: calmPerSecond / crowd.length,
    }),
  );
  await tellUntil(Promise.all(starting), () => tellPresent(row, crowd, sessions));
}

async function tellPresent(row: string, crowd: readonly StormProcess[], sessions: number): Promise<string> {
  const present = await Promise.all(crowd.map(({ service }) => service.ask('present', null)));
  return `${row}: ${sum(present)} of ${sessions} are there`;
}

export interface Stormed {
  readonly server: ReveilleServer;
  readonly backend: Players;
  readonly study: StormStudy;
  /** Of those that come back. */
  readonly sessions: number;
}

/** A backend asks meanwhile, and for as long as is planned at least. */
export async function measureReturn(
  row: string,
  crowd: readonly StormProcess[],
  { server, backend, study, sessions }: Stormed,
): Promise<void> {
  const { secondsMax, querySeconds, queriesPerSecond } = study.plan;
  const tally = new CpuTally(await familyOf(server));
  const startMs = monotonicMs();
  const querying = backend.service.ask('query', {
    port: server.httpPort,
    connections: queryConnections,
    seconds: querySeconds,
    ratePerSecond: queriesPerSecond,
    isCalm: true,
  });
  const returning = Promise.all(crowd.map(({ service }) => service.ask('returned', secondsMax)));
  const readings = await tellUntil(returning, () => tellPresent(row, crowd, sessions));
  for (const line of reasonLines(readings)) tellProgress(`${row}: ${line}`);
  const cpuUs = microsEach(tally.read(), sessions);
  const { latency, wrong, firstWrong } = await querying;
  if (wrong > 0) tellProgress(`${row}: ${wrong} wrong answers, the first: ${firstWrong}`);
  const present = sum(readings.map((reading) => reading.present));
  study.trouble.expectLoggedIn(row, sessions, present);
  study.samples.add(row, {
    halfSeconds: (median(readings.map(({ halfMs }) => halfMs)) - startMs) / 1000,
    allSeconds: (Math.max(...readings.map(({ allMs }) => allMs)) - startMs) / 1000,
    failed: sum(readings.map(({ failed }) => failed)),
    cpuUs,
    queryP50: latency.p50Ms,
    queryP99: latency.p99Ms,
    queryMax: latency.maxMs,
    wrong,
  });
}

/** Why attempts failed, all processes of modules together. */
function reasonLines(readings: readonly ReturnReading[]): string[] {
  const counts = new Map<string, number>();
  for (const { reason, count } of readings.flatMap(({ reasons }) => reasons))
    counts.set(reason, (counts.get(reason) ?? 0) + count);
  return Array.from(counts, ([reason, count]) => `${count} attempts failed: ${reason}`);
}

export async function signQueries(backend: Players, devices: number): Promise<void> {
  await backend.service.ask('signQueries', {
    kind: 'connectivity',
    devices: Math.min(devices, 10_000),
    dates: 2,
  });
}

function sum(counts: readonly number[]): number {
  return counts.reduce((all, count) => all + count, 0);
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? NaN;
}
