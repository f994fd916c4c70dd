/** The effect of each kind of flood on a backend on another connection and on sleeping devices. */
import { moduleBeside } from '../../src/lib/module-worker.ts';
import { floodKinds } from '../../test/support/floods.ts';
import { atMost, differenceFrom, type Benchmark, type Measurement } from '../harness/benchmark.ts';
import { Player } from '../harness/child.ts';
import { startReveille } from '../harness/servers.ts';
import type { FloodProtocol } from '../load/flood-process.ts';
import { expectNoneLost, logIn, startPlayers } from '../load/players.ts';
import { deviceIdentity } from '../load/population.ts';

const plans = {
  full: { sessions: 10_000, warmUpSeconds: 2, ratePerSecond: 500, seconds: 10 },
  smoke: { sessions: 200, warmUpSeconds: 0.1, ratePerSecond: 100, seconds: 0.3 },
};
const atRest = 'at rest';
const worst = 'the worst of them';
const connections = 8;
const floodConnections = 4;
const heartbeatSeconds = 5;
const mebibyte = 1024 ** 2;

async function measure(measurement: Measurement): Promise<void> {
  for (let run = 0; run < measurement.runs; run += 1) await measureRun(measurement);
}

/** One server for all kinds, so that after-effects of one show in the next. */
async function measureRun({ scale, samples, trouble }: Measurement): Promise<void> {
  const { sessions, warmUpSeconds, ratePerSecond, seconds } = plans[scale];
  // The last device floods.
  const server = await startReveille({ devices: sessions + 1 });
  const [fleet, backend] = [startPlayers(), startPlayers()];
  const flooder = new Player<FloodProtocol>(moduleBeside('../load/flood-process', import.meta.url));
  const { httpPort: port, signalPort, devicePort, opsPort } = server;
  const ports = { api: port, signal: signalPort, sleep: devicePort, ops: opsPort };
  const targets = { ...ports, ...deviceIdentity(sessions) };
  const { probe } = server.child;

  const measureKind = async (row: string, flood: () => Promise<Record<string, number>>): Promise<number> => {
    await probe.ask('reset', null);
    const heartbeats = fleet.service.ask('heartbeats', { seconds, everySeconds: heartbeatSeconds });
    const flooding = flood();
    const load = await backend.service.ask('query', { port, connections, seconds, ratePerSecond });
    trouble.expectGoodAnswers(row, load);
    const { loopDelayMs } = await probe.ask('read', null);
    const flooded = await flooding;
    await heartbeats;
    await expectNoneLost(fleet, row, trouble);
    const { rssAnonBytes } = await probe.ask('memory', null);
    const { p50Ms: p50, p99Ms: p99, maxMs: max } = load.latency;
    const loop = { loopP99: loopDelayMs.p99, loopMax: loopDelayMs.max };
    samples.add(row, { p50, p99, max, ...loop, memory: rssAnonBytes / mebibyte, ...flooded });
    return p99;
  };

  try {
    await logIn(fleet, { port: devicePort, dialect: 'reveille', count: sessions }, trouble);
    await backend.service.ask('sign', { kind: 'connectivity', devices: sessions, dates: 4 });
    await backend.service.ask('query', { port, connections, seconds: warmUpSeconds, ratePerSecond });
    await measureKind(atRest, async () => ({}));
    const p99s: number[] = [];
    for (const { name } of floodKinds) {
      const plan = { name, targets, connections: floodConnections, seconds };
      const flood = async (): Promise<Record<string, number>> => {
        const { bytes, closed } = await flooder.service.ask('flood', plan);
        return { sent: bytes / mebibyte / seconds, closed: closed / seconds };
      };
      p99s.push(await measureKind(name, flood));
    }
    samples.add(worst, { p99: Math.max(...p99s) });
  } finally {
    await server.stop();
    await Promise.all([flooder, fleet, backend].map((player) => player.stop()));
  }
}

const { sessions, ratePerSecond, seconds } = plans.full;

export const hostile: Benchmark = {
  title: 'Queries while others flood',
  runs: 1,
  notes: [
    `${sessions} sleeping devices, and an open loop of ${ratePerSecond} signed queries a second, latency from when each was due: ${seconds} s at ` +
      `rest, then during each kind of flood, on ${floodConnections} connections as fast as the server reads.`,
    'No session may be lost and no answer may be wrong.',
  ],
  columns: [
    { metric: 'p99', title: 'p99 ms', digits: 1 },
    { metric: 'max', title: 'longest ms', digits: 0 },
  ],
  targets: [
    {
      what: 'p99 of queries during the worst flood, against rest',
      row: worst,
      metric: 'p99',
      unit: 'ms',
      compared: differenceFrom(atRest),
      bound: atMost(100),
    },
  ],
  measure,
};
