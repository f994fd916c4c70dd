/** A reconnect storm of all modules after a restart, with and without the advice of the welcome and the ramp of the listener. */
import { constants, setPriority } from 'node:os';
import { moduleBeside } from '../../src/lib/module-worker.ts';
import { interleave, ratioTo, type Benchmark, type Measurement } from '../harness/benchmark.ts';
import { Player } from '../harness/child.ts';
import { monotonicMs } from '../harness/latency.ts';
import { startReveille } from '../harness/servers.ts';
import { startPlayers } from '../load/players.ts';
import type { StormProtocol } from '../load/storm-process.ts';

/** `secondsMax`: a module that is not back by then counts as lost. */
const plans = {
  full: { sessions: 18_900, rampSeconds: 30, secondsMax: 240, querySeconds: 20, ratePerSecond: 200 },
  smoke: { sessions: 200, rampSeconds: 1, secondsMax: 60, querySeconds: 1, ratePerSecond: 50 },
};
const calmPerSecond = 1500;
const queryConnections = 8;
const signedDevicesMax = 10_000;

const everySecond = { min_s: 1, max_s: 1, jitter: 0 };
const advised = { min_s: 2, max_s: 300, jitter: 0.5 };

const comebacks = [
  { row: 'every second', retry: everySecond, hasRamp: false },
  { row: 'every second, with a ramp', retry: everySecond, hasRamp: true },
  { row: 'as advised', retry: advised, hasRamp: false },
  { row: 'as advised, with a ramp', retry: advised, hasRamp: true },
];
type Comeback = (typeof comebacks)[number];

function measure(measurement: Measurement): Promise<void> {
  return interleave(comebacks, measurement.runs, (comeback) => measureRestart(comeback, measurement));
}

async function measureRestart(
  { row, retry, hasRamp }: Comeback,
  { scale, samples, trouble }: Measurement,
): Promise<void> {
  const { sessions, rampSeconds, secondsMax, querySeconds, ratePerSecond } = plans[scale];
  const env = { REVEILLE_SLEEP_ACCEPT_RAMP_S: String(hasRamp ? rampSeconds : 0) };
  const first = await startReveille({ devices: sessions, env });
  let server = first;
  const fleet = new Player<StormProtocol>(moduleBeside('../load/storm-process', import.meta.url));
  const backend = startPlayers();
  try {
    // The backend shares a core with the modules; lower their priority, so that it waits only for responses.
    if (fleet.child.process.pid !== undefined)
      setPriority(fleet.child.process.pid, constants.priority.PRIORITY_BELOW_NORMAL);
    await fleet.service.ask('start', { sleepPort: server.devicePort, count: sessions, retry, calmPerSecond });
    const devices = Math.min(sessions, signedDevicesMax);
    await backend.service.ask('sign', { kind: 'connectivity', devices, dates: 2 });
    const restarting = first.restart();
    await fleet.service.ask('lost', null);
    server = await restarting;
    await server.child.probe.ask('reset', null);
    const startMs = monotonicMs();
    const shape = { port: server.httpPort, connections: queryConnections, seconds: querySeconds };
    const querying = backend.service.ask('query', { ...shape, ratePerSecond, isCalm: true });
    const back = await fleet.service.ask('returned', secondsMax);
    const spent = await server.child.probe.ask('read', null);
    const { latency, wrong, firstWrong } = await querying;
    if (back.present < sessions)
      trouble.add(`${row}: ${back.present} of ${sessions} modules are back; ${back.reasons.join(', ')}`);
    const refused = `${row}: ${wrong} queries failed, the first: ${firstWrong}`;
    // A full storm is an overload, in which the server may refuse requests; a small one is not.
    if (wrong > 0 && scale === 'smoke') trouble.add(refused);
    else if (wrong > 0) console.error(refused);
    samples.add(row, {
      halfSeconds: (back.halfMs - startMs) / 1000,
      allSeconds: (back.allMs - startMs) / 1000,
      failed: back.failed,
      cpuUs: (spent.cpuSeconds / sessions) * 1e6,
      queryP50: latency.p50Ms,
      queryP99: latency.p99Ms,
    });
  } finally {
    await server.stop();
    await Promise.all([fleet.stop(), backend.stop()]);
  }
}

const { sessions, rampSeconds, querySeconds, ratePerSecond } = plans.full;
const againstEverySecond = { row: 'as advised', compared: ratioTo('every second'), bound: null };

export const storms: Benchmark = {
  title: 'Storms',
  runs: 1,
  notes: [
    `A server with ${sessions} sleeping modules is killed and restarted; seconds count from \`ready\`. A backend sends ${ratePerSecond} signed ` +
      `queries a second for ${querySeconds} s.`,
    `Every second: all modules in the same one. As advised: by the welcome’s \`retry\` (${advised.min_s} s, doubled up to ${advised.max_s} s, ` +
      `± ${advised.jitter * 100} %). Ramp: \`sleep.accept_ramp_s\` of ${rampSeconds}.`,
  ],
  columns: [
    { metric: 'halfSeconds', title: 'half are back, s', digits: 1 },
    { metric: 'allSeconds', title: 'all, s', digits: 1 },
    { metric: 'failed', title: 'failed attempts', digits: 0 },
    { metric: 'cpuUs', title: 'server CPU µs each', digits: 0 },
    { metric: 'queryP50', title: 'query p50 ms', digits: 1 },
    { metric: 'queryP99', title: 'p99 ms', digits: 0 },
  ],
  targets: [
    {
      ...againstEverySecond,
      what: `All ${sessions} modules are back after a restart, as advised, against every second`,
      metric: 'allSeconds',
      unit: 's',
    },
    { ...againstEverySecond, what: '… p99 of queries meanwhile', metric: 'queryP99', unit: 'ms' },
  ],
  measure,
};
