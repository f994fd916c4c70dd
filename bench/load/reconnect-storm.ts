/** Storms of modules: after a restart of a server alone, and of a whole city at several processes. */
import { loadCore, pin, serverCore, Child } from './child.ts';
import { CpuTally, familyOf } from './family.ts';
import type { LocalLegService } from './ipc.ts';
import { monotonicMs } from './peer-protocol.ts';
import type { Plan } from './plan.ts';
import { startPlayers, type Players } from './players.ts';
import { microsEach } from './process-time.ts';
import type { Samples } from './samples.ts';
import { startReveille, type ReveilleServer } from './servers.ts';
import { stormService, type Manner, type StormProtocol } from './storm-protocol.ts';
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

export function startStormProcess(entry = 'storm-process.ts'): StormProcess {
  const child = new Child({ entry: new URL(`./${entry}`, import.meta.url), core: loadCore });
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
  const backend = startPlayers();
  try {
    await fleet.service.ask('start', {
      port: server.devicePort,
      from: 0,
      count: sessions,
      devices: sessions,
      manner,
    });
    await signQueries(backend, sessions);
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

/** All modules of several processes lose their connections in the same moment: the server serves on. */
export async function measureCity(row: string, manner: Manner, study: StormStudy): Promise<void> {
  const { processes, sessionsOfProcess } = study.plan;
  const sessions = processes * sessionsOfProcess;
  const server = await startReveille({ devices: sessions, core: null, processes });
  const fleets = Array.from({ length: processes }, () => startStormProcess());
  const backend = startPlayers();
  try {
    for (const { pid } of await familyOf(server)) pin(pid, serverCore);
    for (const [place, { service }] of fleets.entries())
      await service.ask('start', {
        port: server.devicePort,
        from: place * sessionsOfProcess,
        count: sessionsOfProcess,
        devices: sessions,
        manner,
      });
    await signQueries(backend, sessions);
    await Promise.all(fleets.map(({ service }) => service.ask('drop', null)));
    await measureReturn(row, fleets, { server, backend, study, sessions });
  } finally {
    await server.stop();
    await Promise.all([...fleets.map(({ child }) => child.stop()), backend.child.stop()]);
  }
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
  const readings = await Promise.all(crowd.map(({ service }) => service.ask('returned', secondsMax)));
  const cpuUs = microsEach(tally.read(), sessions);
  const { latency, wrong } = await querying;
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
