/** The backend that queries connectivity, and servers that know the devices it asks about. */
import type { LoadReading } from './http-load.ts';
import { expectNoneLost, logIn, startPlayers, type Players } from './players.ts';
import type { ProbeReading } from './probe-protocol.ts';
import type { ServerUnderTest } from './servers.ts';
import type { AskedKind } from './signed-requests.ts';
import type { Trouble } from './trouble.ts';

export const queryConnections = 64;
/** Fewer than the batches that one application may have under way. */
export const batchConnections = 16;

export interface QueryReading {
  readonly load: LoadReading;
  readonly spent: ProbeReading;
}

export interface QueryPlan {
  readonly devices: number;
  readonly dates: number;
}

export class QueryBackend {
  readonly #players: Players = startPlayers();
  readonly #plan: QueryPlan;
  readonly #trouble: Trouble;

  constructor(plan: QueryPlan, trouble: Trouble) {
    this.#plan = plan;
    this.#trouble = trouble;
  }

  /** Once a round: the dates stay within the server's window while all servers of a round have their turn. */
  async sign(kind: AskedKind = 'connectivity'): Promise<void> {
    const { devices, dates } = this.#plan;
    await this.#players.service.ask('signQueries', { kind, devices, dates });
  }

  /** The same devices in batches, to be asked beside the queries. */
  async signBatches(): Promise<void> {
    const { devices, dates } = this.#plan;
    await this.#players.service.ask('signBatches', { devices, dates });
  }

  /** In a closed loop. */
  async askBatches(name: string, server: ServerUnderTest, seconds: number): Promise<QueryReading> {
    await server.child.probe.ask('reset', null);
    const shape = { port: server.httpPort, connections: batchConnections, seconds, ratePerSecond: null };
    const load = await this.#players.service.ask('queryBatches', shape);
    const spent = await server.child.probe.ask('read', null);
    this.#trouble.expectGoodAnswers(name, load);
    return { load, spent };
  }

  /** `ratePerSecond` null: in a closed loop. `name` is what a wrong answer is told of. */
  async ask(
    name: string,
    server: ServerUnderTest,
    seconds: number,
    ratePerSecond: number | null,
  ): Promise<QueryReading> {
    await server.child.probe.ask('reset', null);
    const shape = { port: server.httpPort, connections: queryConnections, seconds, ratePerSecond };
    const load = await this.#players.service.ask('query', shape);
    const spent = await server.child.probe.ask('read', null);
    this.#trouble.expectGoodAnswers(name, load);
    return { load, spent };
  }

  /** All devices sleep at the server while it is used; none may be lost. Stops neither. */
  async withSleepingDevices<Result>(
    name: string,
    server: ServerUnderTest,
    use: () => Promise<Result>,
  ): Promise<Result> {
    const fleet = startPlayers();
    try {
      const plan = { port: server.devicePort, dialect: 'reveille', count: this.#plan.devices } as const;
      await logIn(fleet, plan, this.#trouble);
      await fleet.service.ask('heartbeats', 1);
      const result = await use();
      await expectNoneLost(fleet, name, this.#trouble);
      return result;
    } finally {
      await fleet.child.stop();
    }
  }

  async stop(): Promise<void> {
    await this.#players.child.stop();
  }
}

/** `devices`: that each request asks about. */
export function closedMetrics({ load, spent }: QueryReading, devices = 1): Record<string, number> {
  const answered = load.latency.count * devices;
  return {
    rate: load.ratePerSecond * devices,
    cpuUs: (spent.cpuSeconds / answered) * 1e6,
    mainCpuUs: (spent.mainCpuSeconds / answered) * 1e6,
    perCpuSecond: answered / spent.cpuSeconds,
    busy: (spent.cpuSeconds / spent.wallSeconds) * 100,
    p50: load.latency.p50Ms,
    p99: load.latency.p99Ms,
  };
}
