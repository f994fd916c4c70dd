/** The cost of a login, a wakeup, a query and a sleeping device by the number of sleeping devices, at one server with edges. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ratioTo, type Benchmark, type Measurement } from '../harness/benchmark.ts';
import { raisedWakeupLimits, startReveille, type ServerUnderTest } from '../harness/servers.ts';
import { SiteProcesses, type SiteSpent } from '../harness/site-processes.ts';
import { expectNoneLost, logIn, startPlayers, type Players } from '../load/players.ts';
import { QueryBackend } from '../load/query-backend.ts';

/** `lastLogins`: at most so many are measured, the last of each size. `woken`: devices woken once a second. */
const plans = {
  full: {
    edges: 10,
    sizes: [1000, 20_000, 150_000],
    warmUp: 20_000,
    lastLogins: 10_000,
    woken: 1000,
    restSeconds: 5,
    wakeSeconds: 5,
    querySeconds: 4,
  },
  smoke: {
    edges: 2,
    sizes: [50, 200],
    warmUp: 50,
    lastLogins: 20,
    woken: 20,
    restSeconds: 0.1,
    wakeSeconds: 1,
    querySeconds: 0.3,
  },
};
type Plan = (typeof plans)['full'];

/** Below the 20 000 descriptors of a process. */
const devicesPerPlayerMax = 18_750;
const loginAttempts = 20;
/** Longer than the rest of a measurement, at the interval of known modules. */
const heartbeats = { seconds: 600, everySeconds: 45 };
const wakeConnections = 64;
/** All dates are valid for a few minutes. */
const datesMax = 14;
const requestsMin = 100_000;

type Metrics = Readonly<Record<string, number>>;

async function measure({ scale, runs, samples, trouble }: Measurement): Promise<void> {
  const plan = plans[scale];
  for (let run = 0; run < runs; run += 1) {
    const devices = Math.max(plan.warmUp, ...plan.sizes);
    const server = await startReveille({ devices, edges: plan.edges, core: null, env: raisedWakeupLimits });
    const crowd = new Crowd(server, plan, trouble);
    try {
      await crowd.warmUp();
      for (const size of plan.sizes) samples.add(rowOf(size), await crowd.measureAt(size));
    } finally {
      await server.stop();
      await crowd.stop();
    }
  }
}

function rowOf(size: number): string {
  return `${size.toLocaleString('en-US')} devices`;
}

/** The sleeping devices of one server, which grows from size to size. */
class Crowd {
  readonly #server: ServerUnderTest;
  readonly #processes: SiteProcesses;
  readonly #plan: Plan;
  readonly #trouble: Measurement['trouble'];
  readonly #players: Players[] = [];
  #size = 0;
  /** Memory at the size before; NaN: the next size has that of the devices of the warm-up. */
  #pssBytes = NaN;

  constructor(server: ServerUnderTest, plan: Plan, trouble: Measurement['trouble']) {
    this.#server = server;
    this.#processes = new SiteProcesses(server.child);
    this.#plan = plan;
    this.#trouble = trouble;
  }

  /** Devices log in and leave, and queries are asked, so that the code is hot at the smallest size. */
  async warmUp(): Promise<void> {
    const { warmUp, querySeconds } = this.#plan;
    await this.#growTo(warmUp);
    await this.#ask(warmUp, querySeconds);
    await this.stop();
    this.#size = 0;
    await sleep(this.#plan.restSeconds * 1000);
  }

  async measureAt(size: number): Promise<Metrics> {
    const { warmUp, lastLogins, querySeconds } = this.#plan;
    const before = this.#size;
    const logins = Math.min(lastLogins, size - before);
    if (logins < size - before) await this.#growTo(size - logins);
    const login = await this.#spentBy(() => this.#growTo(size).then(() => logins));
    const wake = await this.#spentBy(() => this.#wake());
    const query = await this.#spentBy(() => this.#ask(size, querySeconds));
    const pssBytes = await this.#processes.pssBytes();
    const bytes = (pssBytes - this.#pssBytes) / (size - before);
    // A smaller size has the memory of the devices that left.
    if (size >= warmUp) this.#pssBytes = pssBytes;
    for (const one of this.#players) await expectNoneLost(one, rowOf(size), this.#trouble);
    return {
      loginUs: login.cpuSeconds * 1e6,
      loginCoreUs: login.coreCpuSeconds * 1e6,
      wakeUs: wake.cpuSeconds * 1e6,
      wakeCoreUs: wake.coreCpuSeconds * 1e6,
      // Edges have no part in it, and serve heartbeats at less cost while the machine is busy.
      queryUs: query.coreCpuSeconds * 1e6,
      memory: pssBytes / 1024 ** 2,
      ...(Number.isFinite(bytes) && { bytes }),
    };
  }

  async stop(): Promise<void> {
    await Promise.all(this.#players.splice(0).map((one) => one.stop()));
  }

  async #growTo(size: number): Promise<void> {
    const [first, added] = [this.#size, size - this.#size];
    const players = Array.from({ length: Math.ceil(added / devicesPerPlayerMax) }, startPlayers);
    this.#players.push(...players);
    this.#size = size;
    const share = Math.ceil(added / players.length);
    const plan = { port: this.#server.devicePort, dialect: 'reveille', attempts: loginAttempts } as const;
    await Promise.all(
      players.map(async (one, place) => {
        const from = first + place * share;
        await logIn(one, { ...plan, from, count: Math.min(share, size - from) }, this.#trouble);
        // The heartbeats end with their process.
        one.service.ask('heartbeats', heartbeats).catch(() => undefined);
      }),
    );
  }

  /** Returns the number of wakeups. */
  async #wake(): Promise<number> {
    const { woken, wakeSeconds: seconds } = this.#plan;
    const [first] = this.#players;
    if (first === undefined) throw new Error('no device is asleep');
    await first.service.ask('signWakeups', { devices: woken, count: woken * seconds });
    const shape = { port: this.#server.httpPort, connections: wakeConnections, ratePerSecond: woken };
    const reading = await first.service.ask('wakeAtRate', { ...shape, seconds, isCalm: true });
    this.#trouble.expectGoodWakes(rowOf(this.#size), reading);
    return reading.wake.count;
  }

  /** Returns the number of answers. */
  async #ask(devices: number, seconds: number): Promise<number> {
    const dates = Math.min(datesMax, Math.ceil(requestsMin / devices));
    const backend = new QueryBackend({ devices, dates }, this.#trouble);
    try {
      await backend.sign('connectivity');
      return (await backend.load(rowOf(devices), this.#server, { seconds })).latency.count;
    } finally {
      await backend.stop();
    }
  }

  /** CPU of each operation, less that of the heartbeats meanwhile. */
  async #spentBy(act: () => Promise<number>): Promise<SiteSpent> {
    // The work of the step before ends first.
    await sleep(this.#plan.restSeconds * 1000);
    const rest = await this.#measureDuring(() => sleep(this.#plan.restSeconds * 1000, 1));
    const spent = await this.#measureDuring(act);
    const less = (all: number, idle: number): number =>
      (all - (idle / rest.seconds) * spent.seconds) / spent.count;
    return {
      cpuSeconds: less(spent.cpuSeconds, rest.cpuSeconds),
      coreCpuSeconds: less(spent.coreCpuSeconds, rest.coreCpuSeconds),
    };
  }

  async #measureDuring(act: () => Promise<number>): Promise<SiteSpent & { count: number; seconds: number }> {
    const startMs = performance.now();
    const read = this.#processes.measure();
    const count = await act();
    return { ...read(), count, seconds: (performance.now() - startMs) / 1000 };
  }
}

const { edges, sizes, lastLogins, woken, wakeSeconds, querySeconds } = plans.full;
const [least = 0] = sizes;
const most = sizes.at(-1) ?? 0;
const ofMost = { row: rowOf(most), unit: 'µs', compared: ratioTo(rowOf(least)), bound: null };

export const growth: Benchmark = {
  title: 'The more devices asleep',
  runs: 1,
  notes: [
    `One server with ${edges} edges, pinned to no core, to which devices log in until each size is reached; CPU of all its processes and of the core, ` +
      'less that of the heartbeats meanwhile.',
    `Logins: at most the last ${lastLogins} of each size. Wakeups: ${woken}/s of ${woken} devices for ${wakeSeconds} s. Queries: of all devices, a closed loop of ` +
      `${querySeconds} s. Memory: PSS of all processes, and for each device its growth since the size before.`,
  ],
  columns: [
    { metric: 'loginUs', title: 'login CPU µs', digits: 1 },
    { metric: 'loginCoreUs', title: 'core’s', digits: 1 },
    { metric: 'wakeUs', title: 'wakeup CPU µs', digits: 1 },
    { metric: 'wakeCoreUs', title: 'core’s', digits: 1 },
    { metric: 'queryUs', title: 'query CPU µs, core’s', digits: 1 },
    { metric: 'memory', title: 'memory MiB', digits: 0 },
    { metric: 'bytes', title: 'bytes/device', digits: 0 },
  ],
  targets: [
    { ...ofMost, what: `CPU of a login, ${rowOf(most)} asleep, against ${rowOf(least)}`, metric: 'loginUs' },
    { ...ofMost, what: '… of a wakeup', metric: 'wakeUs' },
    { ...ofMost, what: '… of a query', metric: 'queryUs' },
    { ...ofMost, what: '… memory of a device', metric: 'bytes', unit: 'B', compared: { kind: 'alone' } },
  ],
  measure,
};
