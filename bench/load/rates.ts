/** Figure: what a query and a wakeup cost and how long they take as more are asked each second of one process. */
import type { Figure } from './figure.ts';
import type { LoadReading } from './http-load.ts';
import type { Plan } from './plan.ts';
import { expectNoneLost, logIn, startPlayers } from './players.ts';
import { QueryBackend, queryConnections } from './query-backend.ts';
import { Samples } from './samples.ts';
import { startReveille } from './servers.ts';
import { Trouble } from './trouble.ts';
import { raisedWakeupLimits, wakeConnections } from './wake-figure.ts';
import type { ProbeReading } from './probe-protocol.ts';

const dates = 10;

export async function measureRates(plan: Plan): Promise<Figure> {
  const samples = new Samples();
  const trouble = new Trouble();
  for (let run = 0; run < plan.runs; run += 1) {
    await measureQueries(plan, samples, trouble);
    await measureWakeups(plan, samples, trouble);
  }
  return describe(plan, samples, trouble);
}

async function measureQueries({ rates }: Plan, samples: Samples, trouble: Trouble): Promise<void> {
  const { devices, warmUpSeconds, seconds, queriesPerSecond } = rates;
  const backend = new QueryBackend({ devices, dates }, trouble);
  const server = await startReveille({ devices });
  try {
    await backend.sign();
    await backend.withSleepingDevices('queries', server, async () => {
      await backend.ask('queries', server, warmUpSeconds, null);
      for (const rate of queriesPerSecond) {
        const { load, spent } = await backend.ask(rowOf('queries', rate), server, seconds, rate);
        samples.add(rowOf('queries', rate), metricsOf(rate, load, load.latency, spent));
      }
    });
  } finally {
    await server.stop();
    await backend.stop();
  }
}

async function measureWakeups({ rates }: Plan, samples: Samples, trouble: Trouble): Promise<void> {
  const { devices, warmUpSeconds, seconds, wakeupsPerSecond } = rates;
  const server = await startReveille({ devices, env: raisedWakeupLimits });
  const players = startPlayers();
  const { service } = players;
  try {
    await logIn(players, { port: server.devicePort, dialect: 'reveille', count: devices }, trouble);
    const most = Math.max(...wakeupsPerSecond);
    const count = Math.ceil([...wakeupsPerSecond, most].reduce((sum, rate) => sum + rate * seconds, 0));
    await service.ask('signWakeups', { devices, count });
    const wakeAt = (ratePerSecond: number, time: number): ReturnType<typeof service.ask<'wakeAtRate'>> => {
      const shape = { port: server.httpPort, connections: wakeConnections };
      return service.ask('wakeAtRate', { ...shape, ratePerSecond, seconds: time });
    };
    await wakeAt(most, Math.min(warmUpSeconds, seconds));
    for (const rate of wakeupsPerSecond) {
      await server.child.probe.ask('reset', null);
      const reading = await wakeAt(rate, seconds);
      const spent = await server.child.probe.ask('read', null);
      trouble.expectGoodWakes(rowOf('wakeups', rate), reading);
      samples.add(rowOf('wakeups', rate), metricsOf(rate, reading.answers, reading.wake, spent));
    }
    await expectNoneLost(players, 'wakeups', trouble);
  } finally {
    await server.stop();
    await players.child.stop();
  }
}

function rowOf(what: string, rate: number): string {
  return `${rate.toLocaleString('en-US')} ${what}/s`;
}

function metricsOf(
  offered: number,
  { ratePerSecond }: LoadReading,
  { count, p50Ms, p99Ms }: LoadReading['latency'],
  { cpuSeconds, wallSeconds }: ProbeReading,
): Record<string, number> {
  const cpuUs = (cpuSeconds / count) * 1e6;
  const busy = (cpuSeconds / wallSeconds) * 100;
  return { offered, rate: ratePerSecond, cpuUs, busy, p50: p50Ms, p99: p99Ms };
}

function describe({ rates }: Plan, samples: Samples, trouble: Trouble): Figure {
  const { devices, seconds } = rates;
  return {
    name: 'rates',
    title: 'The more requests a second',
    notes: [
      `One process with ${devices} sleeping devices; ${seconds} s at each rate in an open loop, latency from when each was due: ` +
        `distinct signed queries over ${queryConnections} connections, wakeups over ${wakeConnections} up to the bytes at the device.`,
      'What the process takes at rest is in the CPU of each unit: at low rates it is most of it.',
    ],
    columns: [
      { metric: 'rate', title: 'answered/s', digits: 0 },
      { metric: 'cpuUs', title: 'server CPU µs each', digits: 1 },
      { metric: 'busy', title: 'server busy %', digits: 0 },
      { metric: 'p50', title: 'p50 ms', digits: 3 },
      { metric: 'p99', title: 'p99 ms', digits: 3 },
    ],
    samples,
    targets: [],
    trouble: trouble.list,
  };
}
