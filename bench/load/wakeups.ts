/** Figure: from a signed POST to 8 bytes at the device, against the least that can do it. */
import { loadCore } from './child.ts';
import type { Figure, Target } from './figure.ts';
import type { Plan } from './plan.ts';
import { expectNoneLost, logIn, startPlayers } from './players.ts';
import { interleave } from './rounds.ts';
import { ratio, Samples } from './samples.ts';
import { startPeer, startReveille, type PeerServer, type ServerUnderTest } from './servers.ts';
import { Trouble } from './trouble.ts';
import { raisedWakeupLimits, wakeColumns, wakeConnections, wakeMetrics } from './wake-figure.ts';

interface Contender {
  readonly name: string;
  readonly kind: 'bare' | 'inline' | 'pool' | 'pool-apart';
}

const bare: Contender = { name: 'bare uWS + Map', kind: 'bare' };
const ours: readonly Contender[] = [
  { name: 'pool', kind: 'pool' },
  { name: 'pool, threads on the load core', kind: 'pool-apart' },
  { name: 'inline', kind: 'inline' },
];

export async function measureWakeups(plan: Plan): Promise<Figure> {
  const samples = new Samples();
  const trouble = new Trouble();
  await interleave([bare, ...ours], plan.runs, async (contender) => {
    samples.add(contender.name, await measure(contender, plan, trouble));
  });
  return describe(plan, samples, trouble);
}

async function measure(contender: Contender, plan: Plan, trouble: Trouble): Promise<Record<string, number>> {
  const { sessions, warmUpSeconds, oneByOne, ratePerSecond, seconds } = plan.wakeups;
  const { server, peer } = await start(contender, sessions);
  const players = startPlayers();
  const { service } = players;
  const port = server.httpPort;
  try {
    const allConnected = peer?.service.ask('connected', sessions);
    const dialect = peer === null ? 'reveille' : 'named';
    await logIn(players, { port: server.devicePort, dialect, count: sessions }, trouble);
    await allConnected;
    if (contender.kind === 'pool-apart') server.child.moveWorkersTo(loadCore);
    const count = oneByOne + Math.ceil((warmUpSeconds + seconds) * ratePerSecond);
    await service.ask('signWakeups', { devices: sessions, count });
    const warmUp = await service.ask('wakeAtRate', {
      port,
      connections: wakeConnections,
      ratePerSecond,
      seconds: warmUpSeconds,
    });
    const idle = await service.ask('wakeOneByOne', { port, count: oneByOne });
    await server.child.probe.ask('reset', null);
    const loaded = await service.ask('wakeAtRate', {
      port,
      connections: wakeConnections,
      ratePerSecond,
      seconds,
    });
    const spent = await server.child.probe.ask('read', null);
    for (const reading of [warmUp, idle, loaded]) trouble.expectGoodWakes(contender.name, reading);
    await expectNoneLost(players, contender.name, trouble);
    const answerP99 = loaded.answers.latency.p99Ms;
    return { ...wakeMetrics(idle, loaded), answerP99, cpuUs: (spent.cpuSeconds / loaded.wake.count) * 1e6 };
  } finally {
    await server.stop();
    await players.child.stop();
  }
}

async function start(
  { kind }: Contender,
  devices: number,
): Promise<{ server: ServerUnderTest; peer: PeerServer | null }> {
  if (kind === 'bare') {
    const peer = await startPeer('bare-wakeup');
    return { server: peer, peer };
  }
  const verification = kind === 'inline' ? 'inline' : 'pool';
  return { server: await startReveille({ devices, verification, env: raisedWakeupLimits }), peer: null };
}

function describe(plan: Plan, samples: Samples, trouble: Trouble): Figure {
  const { sessions, oneByOne, ratePerSecond, seconds } = plan.wakeups;
  return {
    name: 'wakeups',
    title: 'Wakeups',
    notes: [
      `From the POST to the 8 bytes read at the device, ${sessions} sessions, every wakeup signed and with its own ` +
        `X-Request-ID. Idle: ${oneByOne} one at a time. Loaded: ${ratePerSecond}/s for ${seconds} s in an open loop ` +
        `over ${wakeConnections} connections, counted from when each was due.`,
      'Limits raised for this figure: ' +
        Object.entries(raisedWakeupLimits)
          .map(([name, value]) => `${name}=${value}`)
          .join(', ') +
        '; everything else at its default, which is `pool`.',
      'Backend and devices are one process, so one clock measures both ends; its own turns are in the figures of all.',
      'Bare: a uWebSockets.js POST handler that parses the JSON, finds the socket in a Map and writes; it checks, ' +
        'limits, remembers and records nothing, and answers without waiting for the write.',
    ],
    columns: [
      ...wakeColumns,
      { metric: 'answerP99', title: 'loaded: answer p99 ms', digits: 3 },
      { metric: 'cpuUs', title: 'loaded: server CPU µs/wakeup', digits: 1 },
    ],
    samples,
    targets: ours.flatMap(({ name }) => [
      target(samples, name, { metric: 'idleP99', what: 'p99 idle', atMost: 2.5 }),
      target(samples, name, { metric: 'loadedP99', what: `p99 at ${ratePerSecond}/s`, atMost: 2 }),
      target(samples, name, { metric: 'cpuUs', what: 'server CPU per wakeup', atMost: 2 }),
    ]),
    trouble: trouble.list,
  };
}

function target(
  samples: Samples,
  name: string,
  { metric, what, atMost }: { readonly metric: string; readonly what: string; readonly atMost: number },
): Target {
  return {
    what: `${name} / bare, ${what}`,
    measured: samples.compare(metric, name, bare.name, ratio),
    bound: { kind: 'at most', value: atMost },
    digits: 2,
  };
}
