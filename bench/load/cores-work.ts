/** Work that is asked of servers under test, of one or of several at once, and the CPU that each unit of it takes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CpuTally, type Relative } from './family.ts';
import type { LoadReading } from './http-load.ts';
import type { WakeReading } from './load-protocol.ts';
import type { CoresKind, Plan } from './plan.ts';
import { logIn, loginConcurrency, startPlayers, type Players } from './players.ts';
import { microsEach } from './process-time.ts';
import { batchConnections, queryConnections } from './query-backend.ts';
import type { ReveilleServer } from './servers.ts';
import { devicesOfBatch } from './signed-requests.ts';
import type { Trouble } from './trouble.ts';
import { wakeConnections } from './wake-figure.ts';

/** After a start and after a burst: what follows from it is committed, and told to whoever follows. */
export const settleMs = 1000;

export type Metrics = Record<string, number>;

/** A server under test, with the devices that sleep at it. */
export interface Site {
  readonly name: string;
  readonly server: ReveilleServer;
  /** How many answer: 1 alone. */
  readonly workers: number;
  readonly relatives: readonly Relative[];
  readonly sessions: number;
  /** Plays the devices that are woken, and who wakes them: one clock sees both ends. */
  readonly players: Players;
  readonly plan: Plan;
  readonly trouble: Trouble;
}

function tallyOf(sites: readonly Site[]): CpuTally {
  return new CpuTally(sites.flatMap(({ relatives }) => relatives));
}

export const sum = (numbers: readonly number[]): number => numbers.reduce((all, number) => all + number, 0);
export const mean = (numbers: readonly number[]): number => sum(numbers) / numbers.length;

/** Behind others that leave again: they have every worker compile what a login takes. */
export async function measureLogins(sites: readonly Site[], { cores }: Plan): Promise<Metrics> {
  if (cores.kinds.includes('login')) await Promise.all(sites.map(warmLogins));
  const tally = tallyOf(sites);
  const rates = await Promise.all(
    sites.map(async ({ name, server, workers, players, sessions: count, trouble }) => {
      const login = { port: server.devicePort, dialect: 'reveille', count } as const;
      const reading = await logIn(players, { ...login, concurrency: workers * loginConcurrency }, trouble);
      trouble.expectLoggedIn(name, count, reading.loggedIn);
      return count / ((reading.endedMs - reading.startedMs) / 1000);
    }),
  );
  await sleep(settleMs);
  return {
    loginUs: microsEach(tally.read(), sum(sites.map(({ sessions }) => sessions))),
    loginRate: sum(rates),
  };
}

async function warmLogins({ server, workers, sessions: from, plan, trouble }: Site): Promise<void> {
  const others = startPlayers();
  const count = workers * plan.cores.warmUps.login;
  try {
    await logIn(others, { port: server.devicePort, dialect: 'reveille', from, count }, trouble);
  } finally {
    await others.child.stop();
    await sleep(2 * settleMs);
  }
}

/** What the processes take while nothing is asked of them: it is in every unit of a load that does not fill the core. */
export async function measureIdle(sites: readonly Site[], { cores }: Plan): Promise<Metrics> {
  const tally = tallyOf(sites);
  await sleep(cores.idleSeconds * 1000);
  return { idlePercent: (tally.read() / cores.idleSeconds) * 100 };
}

/** Of those that need no server of their own. */
export const ways: Readonly<
  Partial<Record<CoresKind, (sites: readonly Site[], plan: Plan) => Promise<Metrics>>>
> = {
  query: async (sites, plan) => {
    const { cpuUs, readings } = await ask(sites, plan, 'query');
    return { queryUs: cpuUs, queryRate: sum(readings.map(({ ratePerSecond }) => ratePerSecond)) };
  },
  status: async (sites, plan) => ({ statusUs: (await ask(sites, plan, 'status')).cpuUs }),
  batch: async (sites, plan) => {
    const { cpuUs, readings } = await ask(sites, plan, 'batch');
    return {
      batchUs: cpuUs / devicesOfBatch,
      batchP99: mean(readings.map(({ latency }) => latency.p99Ms)),
    };
  },
  wakeup: measureWakeups,
};

type Asked = 'query' | 'status' | 'batch';

/** All sites at once. */
async function ask(
  sites: readonly Site[],
  { cores }: Plan,
  kind: Asked,
): Promise<{ cpuUs: number; readings: readonly LoadReading[] }> {
  const callers = sites.map((site) => new Caller(site, kind));
  try {
    await Promise.all(callers.map((caller) => caller.warm()));
    const tally = tallyOf(sites);
    const readings = await Promise.all(callers.map((caller) => caller.ask(cores.seconds)));
    return { cpuUs: microsEach(tally.read(), sum(readings.map(({ latency }) => latency.count))), readings };
  } finally {
    await Promise.all(callers.map((caller) => caller.stop()));
  }
}

/**
 * Asks in a closed loop, over connections that the kernel has given to any of the workers, as many for each as alone has: that
 * cores add up means that so many take so much more.
 */
class Caller {
  readonly #site: Site;
  readonly #kind: Asked;
  readonly #backend = startPlayers();

  constructor(site: Site, kind: Asked) {
    this.#site = site;
    this.#kind = kind;
  }

  async warm(): Promise<void> {
    const { sessions: devices, workers, players, plan } = this.#site;
    const { dates, warmUps, seconds } = plan.cores;
    const { service } = this.#backend;
    if (this.#kind === 'batch') await service.ask('signBatches', { devices, dates });
    else {
      const kind = this.#kind === 'query' ? 'connectivity' : 'call-status';
      await service.ask('signQueries', { kind, devices, dates });
    }
    await players.service.ask('heartbeats', 1);
    const wanted = workers * warmUps[this.#kind];
    for (let warm = 0; warm < wanted;) warm += (await this.ask(seconds / 4)).latency.count;
  }

  async ask(seconds: number): Promise<LoadReading> {
    const { name, server, workers, trouble } = this.#site;
    const isBatch = this.#kind === 'batch';
    const connections = workers * (isBatch ? batchConnections : queryConnections);
    const shape = { port: server.httpPort, connections, ratePerSecond: null, seconds };
    const reading = await this.#backend.service.ask(isBatch ? 'queryBatches' : 'query', shape);
    trouble.expectGoodAnswers(name, reading);
    return reading;
  }

  stop(): Promise<void> {
    return this.#backend.child.stop();
  }
}

async function measureWakeups(sites: readonly Site[], { cores }: Plan): Promise<Metrics> {
  const { warmUps, seconds, oneByOne } = cores;
  const wakers = sites.map(({ name, server, workers, sessions: devices, players, trouble }) => {
    const ratePerSecond = cores.ratePerSecond / sites.length;
    const shape = { port: server.httpPort, connections: workers * wakeConnections, ratePerSecond };
    const { service } = players;
    const checked = async (asked: Promise<WakeReading>): Promise<WakeReading> => {
      const reading = await asked;
      trouble.expectGoodWakes(name, reading);
      return reading;
    };
    const warmUpSeconds = (workers * warmUps.wakeup) / ratePerSecond;
    const count = oneByOne + Math.ceil((warmUpSeconds + seconds) * ratePerSecond);
    return {
      warm: async () => {
        await service.ask('heartbeats', 1);
        await service.ask('signWakeups', { devices, count });
        await checked(service.ask('wakeAtRate', { ...shape, seconds: warmUpSeconds }));
      },
      oneByOne: () =>
        checked(
          service.ask('wakeOneByOne', { port: server.httpPort, count: Math.ceil(oneByOne / sites.length) }),
        ),
      atRate: () => checked(service.ask('wakeAtRate', { ...shape, seconds })),
    };
  });
  await Promise.all(wakers.map(({ warm }) => warm()));
  const idle: WakeReading[] = [];
  for (const waker of wakers) idle.push(await waker.oneByOne());
  const tally = tallyOf(sites);
  const loaded = await Promise.all(wakers.map(({ atRate }) => atRate()));
  return {
    wakeupUs: microsEach(tally.read(), sum(loaded.map(({ wake }) => wake.count))),
    idleP50: mean(idle.map(({ wake }) => wake.p50Ms)),
    idleP99: mean(idle.map(({ wake }) => wake.p99Ms)),
    loadedP50: mean(loaded.map(({ wake }) => wake.p50Ms)),
    loadedP99: mean(loaded.map(({ wake }) => wake.p99Ms)),
  };
}
