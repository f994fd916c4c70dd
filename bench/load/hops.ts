/** Figure: a wakeup whose device is in another process, or on another node, against one whose device is where it is asked. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CpuTally, familyOf, type Relative } from './family.ts';
import type { Figure } from './figure.ts';
import type { LoadShape } from './http-load.ts';
import {
  alone,
  connections,
  describeHops,
  otherNode,
  otherProcess,
  sameNode,
  sameProcess,
} from './hops-figure.ts';
import { hasNats, NatsUnderTest } from './nats.ts';
import type { Plan } from './plan.ts';
import { expectNoneLost, logIn, startPlayers, type Players } from './players.ts';
import { queryConnections } from './query-backend.ts';
import { registryEntries } from './population.ts';
import { microsEach } from './process-time.ts';
import { interleave } from './rounds.ts';
import { Samples } from './samples.ts';
import { startReveille, type ReveilleServer } from './servers.ts';
import { Trouble } from './trouble.ts';
import { raisedWakeupLimits, wakeMetrics } from './wake-figure.ts';

const settleMs = 2000;
const dates = 10;
const secondsOfQueries = 3;
/** Devices enough that with two workers each has as many as are woken, however the logins fall. */
const perWorker = 2.5;

/** A way for wakeups, and queries: who is asked, about whom. */
interface Way {
  readonly name: string;
  readonly port: number;
  readonly devices: readonly number[];
  /** The process of the server that is asked. */
  readonly heldBy?: number;
}

interface Site {
  readonly players: Players;
  readonly relatives: readonly Relative[];
  readonly plan: Plan;
  readonly samples: Samples;
  readonly trouble: Trouble;
}

export async function measureHops(plan: Plan): Promise<Figure> {
  const samples = new Samples();
  const trouble = new Trouble();
  const withNats = hasNats();
  const places = [measureAlone, measureProcesses, ...(withNats ? [measureNodes] : [])];
  await interleave(places, plan.runs, (measure) => measure(plan, samples, trouble));
  return describeHops(plan, samples, trouble, withNats);
}

async function measureAlone(plan: Plan, samples: Samples, trouble: Trouble): Promise<void> {
  const { devices } = plan.hops;
  const server = await startReveille({ devices, env: raisedWakeupLimits });
  const players = startPlayers();
  try {
    await logIn(players, { port: server.devicePort, dialect: 'reveille', count: devices }, trouble);
    const relatives = await familyOf(server);
    const site = { players, relatives, plan, samples, trouble };
    samples.add(alone, await wake({ name: alone, port: server.httpPort, devices: upTo(devices) }, site));
    await expectNoneLost(players, alone, trouble);
  } finally {
    await server.stop();
    await players.child.stop();
  }
}

async function measureProcesses(plan: Plan, samples: Samples, trouble: Trouble): Promise<void> {
  const wanted = plan.hops.devices;
  const count = Math.ceil(wanted * perWorker);
  const server = await startReveille({ devices: count, processes: 2, env: raisedWakeupLimits });
  const players = startPlayers();
  const { httpPort: port, devicePort } = server;
  try {
    await logIn(players, { port: devicePort, dialect: 'reveille', count }, trouble);
    const relatives = await familyOf(server);
    const [own = 0, other = 0] = relatives
      .filter(({ name }) => name.startsWith('worker'))
      .map(({ pid }) => pid);
    const site = { players, relatives, plan, samples, trouble };
    const here = await players.service.ask('devicesAt', { pid: own, port: devicePort });
    const there = await players.service.ask('devicesAt', { pid: other, port: devicePort });
    for (const [name, devices] of [
      [sameProcess, here],
      [otherProcess, there],
    ] as const)
      samples.add(name, await wake({ name, port, devices: devices.slice(0, wanted), heldBy: own }, site));
    await expectNoneLost(players, 'two processes', trouble);
  } finally {
    await server.stop();
    await players.child.stop();
  }
}

async function measureNodes(plan: Plan, samples: Samples, trouble: Trouble): Promise<void> {
  const { devices: count } = plan.hops;
  const nats = await NatsUnderTest.start();
  const players = startPlayers();
  const nodes: ReveilleServer[] = [];
  try {
    const start = async (name: string, devices: number): Promise<ReveilleServer> => {
      const node = await startReveille({ devices, env: { ...raisedWakeupLimits, ...nats.nodeEnv(name) } });
      nodes.push(node);
      return node;
    };
    const a = await start('a', count);
    await nats.keepsRegistry(registryEntries(count));
    const b = await start('b', 0);
    const relatives = [...(await familyOf(a)), ...(await familyOf(b)), { name: 'nats', pid: nats.pid }];
    const site = { players, relatives, plan, samples, trouble };
    const tally = new CpuTally(relatives);
    await logIn(players, { port: a.devicePort, dialect: 'reveille', count }, trouble);
    await sleep(settleMs);
    samples.add(sameNode, { natsLoginUs: microsEach(tally.read('nats'), count) });
    for (const [name, { httpPort: port }] of [
      [sameNode, a],
      [otherNode, b],
    ] as const) {
      const way = { name, port, devices: upTo(count) };
      samples.add(name, { ...(await wake(way, site)), natsQueryUs: await query(way, site) });
    }
    await expectNoneLost(players, 'two nodes', trouble);
  } finally {
    for (const node of nodes) await node.stop();
    await players.child.stop();
    await nats.stop();
  }
}

async function wake(
  { name, port, devices, heldBy }: Way,
  { players: { service }, relatives, plan, trouble }: Site,
): Promise<Record<string, number>> {
  const { warmUpSeconds, oneByOne, ratePerSecond, seconds } = plan.hops;
  const count = oneByOne + Math.ceil((warmUpSeconds + seconds) * ratePerSecond);
  const shape: LoadShape = {
    port,
    connections,
    ratePerSecond,
    seconds,
    ...(heldBy !== undefined && { heldBy }),
  };
  await service.ask('signWakeups', { devices, count });
  await sleep(settleMs);
  const warmUp = await service.ask('wakeAtRate', { ...shape, seconds: warmUpSeconds });
  const idle = await service.ask('wakeOneByOne', {
    port,
    count: oneByOne,
    ...(heldBy !== undefined && { heldBy }),
  });
  const tally = new CpuTally(relatives);
  const loaded = await service.ask('wakeAtRate', shape);
  const natsSeconds = tally.read('nats');
  for (const reading of [warmUp, idle, loaded]) trouble.expectGoodWakes(name, reading);
  const woken = loaded.wake.count;
  const hasNats = relatives.some((relative) => relative.name === 'nats');
  return {
    ...wakeMetrics(idle, loaded),
    cpuUs: microsEach(tally.read() - natsSeconds, woken),
    ...(hasNats && { natsUs: microsEach(natsSeconds, woken) }),
  };
}

/** NATS's part of it. */
async function query(
  { name, port, devices }: Way,
  { players: { service }, relatives, plan, trouble }: Site,
): Promise<number> {
  await service.ask('signQueries', { kind: 'connectivity', devices: devices.length, dates });
  const tally = new CpuTally(relatives);
  const seconds = plan.isSmoke ? plan.hops.seconds : secondsOfQueries;
  const reading = await service.ask('query', {
    port,
    connections: queryConnections,
    seconds,
    ratePerSecond: null,
  });
  trouble.expectGoodAnswers(name, reading);
  return microsEach(tally.read('nats'), reading.latency.count);
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
