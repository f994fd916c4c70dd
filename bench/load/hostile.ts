/** Figure: what one kind of flood after the other costs a caller on another connection, and the devices that sleep meanwhile. */
import { constants, setPriority } from 'node:os';
import { floodKinds, type FloodKind } from '../../test/support/floods.ts';
import { Child, loadCore } from './child.ts';
import type { Figure, Target } from './figure.ts';
import { floodService, type FloodProtocol } from './flood-protocol.ts';
import type { LocalLegService } from './ipc.ts';
import type { LoadReading } from './http-load.ts';
import type { Plan } from './plan.ts';
import { expectNoneLost, logIn, startPlayers, type Players } from './players.ts';
import { deviceIdentity } from './population.ts';
import { difference, Samples } from './samples.ts';
import { startReveille, type ReveilleServer } from './servers.ts';
import { Trouble } from './trouble.ts';

const atRest = 'at rest';
/** At once, of each kind; the issue's own were one and four. */
const floodConnections = 4;
const queryConnections = 8;
const p99AboveRestMsMax = 100;
const mebibyte = 1024 ** 2;

export async function measureHostile(plan: Plan): Promise<Figure> {
  const study = new HostileStudy(plan);
  for (let run = 0; run < plan.runs; run += 1) await study.measure();
  return study.describe();
}

class HostileStudy {
  readonly #plan: Plan['hostile'];
  readonly #samples = new Samples();
  readonly #trouble = new Trouble();

  constructor({ hostile }: Plan) {
    this.#plan = hostile;
  }

  /** One server for all kinds: what one of them leaves behind shows in the next. */
  async measure(): Promise<void> {
    const { sessions } = this.#plan;
    // The last device is the one that floods.
    const server = await startReveille({ devices: sessions + 1 });
    const players = [startPlayers(), startPlayers()] as const;
    const [fleet, backend] = players;
    const flooder = new Child({ entry: new URL('./flood-process.ts', import.meta.url), core: loadCore });
    try {
      await logIn(fleet, { port: server.devicePort, dialect: 'reveille', count: sessions }, this.#trouble);
      await backend.service.ask('signQueries', { kind: 'connectivity', devices: sessions, dates: 4 });
      await this.#query(server, backend, this.#plan.warmUpSeconds);
      await this.#measureOne(atRest, server, players, async () => undefined);
      // As the players have: who asks and who floods get the same part of their core.
      if (flooder.process.pid !== undefined)
        setPriority(flooder.process.pid, constants.priority.PRIORITY_BELOW_NORMAL);
      const service = flooder.service<FloodProtocol>(floodService);
      for (const kind of floodKinds)
        await this.#measureOne(kind.name, server, players, () => this.#flood(kind, server, service));
    } finally {
      await server.stop();
      await Promise.all([flooder, fleet.child, backend.child].map((child) => child.stop()));
    }
  }

  async #measureOne(
    name: string,
    server: ReveilleServer,
    [fleet, backend]: readonly [Players, Players],
    flood: () => Promise<object | undefined>,
  ): Promise<void> {
    const { seconds } = this.#plan;
    await server.child.probe.ask('reset', null);
    const heartbeats = fleet.service.ask('heartbeatCalmly', { seconds, everySeconds: 5 });
    const flooding = flood();
    const { latency, ...reading } = await this.#query(server, backend, seconds);
    this.#trouble.expectGoodAnswers(name, { latency, ...reading });
    const { loopDelayMs } = await server.child.probe.ask('read', null);
    const flooded = await flooding;
    await heartbeats;
    await expectNoneLost(fleet, name, this.#trouble);
    const { rssAnonBytes } = await server.child.probe.ask('memory', null);
    this.#samples.add(name, {
      p50: latency.p50Ms,
      p99: latency.p99Ms,
      max: latency.maxMs,
      loopP99: loopDelayMs.p99,
      loopMax: loopDelayMs.max,
      memory: rssAnonBytes / mebibyte,
      ...flooded,
    });
  }

  async #flood(
    { name }: FloodKind,
    server: ReveilleServer,
    service: LocalLegService<FloodProtocol>,
  ): Promise<object> {
    const { httpPort: api, signalPort: signal, devicePort: sleep, opsPort: ops } = server;
    const targets = { api, signal, sleep, ops, ...deviceIdentity(this.#plan.sessions) };
    const { seconds } = this.#plan;
    const plan = { name, targets, connections: floodConnections, seconds };
    const { bytes, closed } = await service.ask('flood', plan);
    return { sent: bytes / mebibyte / seconds, closed: closed / seconds };
  }

  #query(server: ReveilleServer, backend: Players, seconds: number): Promise<LoadReading> {
    const { queriesPerSecond: ratePerSecond } = this.#plan;
    return backend.service.ask('query', {
      port: server.httpPort,
      connections: queryConnections,
      seconds,
      ratePerSecond,
    });
  }

  describe(): Figure {
    const { sessions, seconds, queriesPerSecond } = this.#plan;
    return {
      name: 'hostile',
      title: 'Queries while others flood',
      notes: [
        `${sessions} sleeping devices with a heartbeat each 5 s, and an open loop of ${queriesPerSecond} signed queries a second ` +
          `over ${queryConnections} connections, latency from when each was due: ${seconds} s at rest, then as long beside each kind of flood.`,
        `A flood is ${floodConnections} connections that send one thing over and over, as fast as the server reads; one that the server ` +
          'closes is made again at once. Floods and queries share the load’s core.',
        'No session may be lost and no answer may be wrong; memory is the server’s own, behind a collection.',
      ],
      columns: [
        { metric: 'p50', title: 'p50 ms', digits: 2 },
        { metric: 'p99', title: 'p99 ms', digits: 2 },
        { metric: 'max', title: 'longest ms', digits: 1 },
        { metric: 'loopP99', title: 'loop delay p99 ms', digits: 1 },
        { metric: 'loopMax', title: 'longest ms', digits: 1 },
        { metric: 'sent', title: 'flood MiB/s', digits: 2 },
        { metric: 'closed', title: 'closed/s', digits: 0 },
        { metric: 'memory', title: 'memory MiB', digits: 1 },
      ],
      samples: this.#samples,
      targets: floodKinds.map(({ name }) => this.#target(name)),
      trouble: this.#trouble.list,
    };
  }

  #target(name: string): Target {
    return {
      what: `${name} − at rest, p99 ms`,
      measured: this.#samples.compare('p99', name, atRest, difference),
      bound: { kind: 'at most', value: p99AboveRestMsMax },
      digits: 1,
    };
  }
}
