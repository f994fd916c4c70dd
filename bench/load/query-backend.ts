/** A backend that queries connectivity and calls of sleeping devices. */
import type { ProbeReading } from '../harness/probe.ts';
import type { ServerUnderTest } from '../harness/servers.ts';
import type { Trouble } from '../harness/trouble.ts';
import type { DialectName } from './dialects.ts';
import type { LoadReading, LoadShape } from './http-load.ts';
import { expectNoneLost, logIn, startPlayers } from './players.ts';
import type { AskedKind } from './signed-requests.ts';

export const queryConnections = 64;
export const batchConnections = 16;

export interface QueryReading {
  readonly load: LoadReading;
  readonly spent: ProbeReading;
}

export class QueryBackend {
  readonly #players = startPlayers();
  readonly #plan: { readonly devices: number; readonly dates: number };
  readonly #trouble: Trouble;
  #connections = queryConnections;

  constructor(plan: { readonly devices: number; readonly dates: number }, trouble: Trouble) {
    this.#plan = plan;
    this.#trouble = trouble;
  }

  /** Call shortly before sending, because the dates are valid for a few minutes. */
  async sign(kind: AskedKind | 'batches'): Promise<void> {
    const { devices, dates } = this.#plan;
    this.#connections = kind === 'batches' ? batchConnections : queryConnections;
    await this.#players.service.ask('sign', { kind, devices, dates });
  }

  /** Sends the latest signed requests. `ratePerSecond` null: a closed loop. */
  async ask(
    row: string,
    server: ServerUnderTest,
    seconds: number,
    ratePerSecond: number | null = null,
  ): Promise<QueryReading> {
    await server.child.probe.ask('reset', null);
    const load = await this.load(row, server, { seconds, ratePerSecond });
    const spent = await server.child.probe.ask('read', null);
    return { load, spent };
  }

  /** Repeats rounds until so many answers have come: on a busy machine, code becomes hot later. Default `answers`: one round. */
  async warmUp(row: string, server: ServerUnderTest, seconds: number, answers = 0): Promise<void> {
    let answered = 0;
    do answered += (await this.load(row, server, { seconds })).latency.count;
    while (answered < answers);
  }

  /** Like `ask`, at a server without a probe. Default `connections`: those of the signed kind. */
  async load(
    row: string,
    server: ServerUnderTest,
    shape: Pick<LoadShape, 'seconds'> & Partial<LoadShape>,
  ): Promise<LoadReading> {
    const { connections = this.#connections, seconds, ratePerSecond = null } = shape;
    const load = await this.#players.service.ask('query', {
      port: server.httpPort,
      connections,
      seconds,
      ratePerSecond,
    });
    this.#trouble.expectGoodAnswers(row, load);
    return load;
  }

  /** Calls `use` while all devices sleep at the server; none may be lost. */
  async withSleepingDevices<Result>(
    row: string,
    dialect: DialectName,
    server: ServerUnderTest,
    use: () => Promise<Result>,
  ): Promise<Result> {
    const fleet = startPlayers();
    try {
      const plan = { port: server.devicePort, dialect, count: this.#plan.devices };
      await logIn(fleet, plan, this.#trouble);
      await fleet.service.ask('heartbeats', { seconds: 1, everySeconds: 1 });
      const result = await use();
      await expectNoneLost(fleet, row, this.#trouble);
      return result;
    } finally {
      await fleet.stop();
    }
  }

  stop(): Promise<void> {
    return this.#players.stop();
  }
}

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
