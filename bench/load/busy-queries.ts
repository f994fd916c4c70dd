/** Figure: signed connectivity queries while events are written, against the same server writing none. */
import { loadCore } from './child.ts';
import type { Figure, Target } from './figure.ts';
import type { LocalLegService } from './ipc.ts';
import type { Plan } from './plan.ts';
import { closedMetrics, QueryBackend, queryConnections } from './query-backend.ts';
import { interleave } from './rounds.ts';
import { ratio, Samples } from './samples.ts';
import { startReveille, type ServerUnderTest, type Verification } from './servers.ts';
import { Trouble } from './trouble.ts';
import { eventSourceService, type WriterProtocol } from './event-source-protocol.ts';

interface Contender {
  readonly name: string;
  readonly verification: Verification;
  /** Its worker threads and the store's writer get the load's processor; otherwise they share the main thread's. */
  readonly movesWorkers: boolean;
}

const contenders: readonly Contender[] = [
  { name: 'inline', verification: 'inline', movesWorkers: false },
  { name: 'pool', verification: 'pool', movesWorkers: false },
  { name: 'pool, threads on the load core', verification: 'pool', movesWorkers: true },
];

type Mode = 'at rest' | 'writing';

export async function measureBusyQueries(plan: Plan): Promise<Figure> {
  const study = new BusyStudy(plan);
  let signedRound = -1;
  try {
    await interleave(contenders, plan.runs, async (contender, round) => {
      if (round !== signedRound) await study.sign();
      signedRound = round;
      await study.measure(contender, round);
    });
    return study.describe();
  } finally {
    await study.stop();
  }
}

class BusyStudy {
  readonly #plan: Plan['busyQueries'];
  readonly #samples = new Samples();
  readonly #trouble = new Trouble();
  readonly #backend: QueryBackend;

  constructor({ busyQueries }: Plan) {
    this.#plan = busyQueries;
    this.#backend = new QueryBackend(busyQueries, this.#trouble);
  }

  sign(): Promise<void> {
    return this.#backend.sign();
  }

  stop(): Promise<void> {
    return this.#backend.stop();
  }

  /** One server, both ways; which comes first changes from round to round. */
  async measure({ name, verification, movesWorkers }: Contender, round: number): Promise<void> {
    const { devices } = this.#plan;
    const server = await startReveille({ devices, verification, writesEvents: true });
    const modes: readonly Mode[] = round % 2 === 0 ? ['at rest', 'writing'] : ['writing', 'at rest'];
    try {
      await this.#backend.withSleepingDevices(name, server, async () => {
        if (movesWorkers) server.child.moveWorkersTo(loadCore);
        for (const mode of modes) {
          const who = `${name}, ${mode}`;
          const measured = mode === 'writing' ? this.#askWhileWriting(who, server) : this.#ask(who, server);
          this.#samples.add(who, await measured);
        }
      });
    } finally {
      await server.stop();
    }
  }

  async #ask(who: string, server: ServerUnderTest): Promise<Record<string, number>> {
    const { warmUpSeconds, seconds } = this.#plan;
    await this.#backend.ask(who, server, warmUpSeconds, null);
    return closedMetrics(await this.#backend.ask(who, server, seconds, null));
  }

  async #askWhileWriting(who: string, server: ServerUnderTest): Promise<Record<string, number>> {
    const { devices, warmUpSeconds, seconds, eventsPerSecond, eventsPerSecondMin } = this.#plan;
    const writer: LocalLegService<WriterProtocol> = server.child.service(eventSourceService);
    await writer.ask('write', { devices, ratePerSecond: eventsPerSecond });
    await this.#backend.ask(who, server, warmUpSeconds, null);
    const before = await writer.ask('head', null);
    const asked = await this.#backend.ask(who, server, seconds, null);
    const after = await writer.ask('head', null);
    await writer.ask('rest', null);
    const events = ((after.head - before.head) * 1000) / (after.atMs - before.atMs);
    if (events < eventsPerSecondMin)
      this.#trouble.add(
        `${who}: only ${Math.round(events)} of ${eventsPerSecond} events/s were committed meanwhile`,
      );
    return { ...closedMetrics(asked), events };
  }

  describe(): Figure {
    const { devices, dates, seconds, eventsPerSecond } = this.#plan;
    return {
      name: 'busy-queries',
      title: 'Signed connectivity queries while events are written',
      notes: [
        `${devices * dates} distinct signed requests: ${devices} devices with live sessions, ${dates} dates each; a closed ` +
          `loop over ${queryConnections} keep-alive connections; default settings; ${seconds} s after a warm-up.`,
        `Writing: ${eventsPerSecond} events/s of these devices are appended to the log by a timer of 1 ms in the server’s own ` +
          'process, each slice to be committed at once, as session events are. What would cause them, logins or calls, ' +
          'would cost more and is not measured. Events/s are counted by what the log has committed meanwhile.',
        'Both ways in the same process, in turn first.',
        'The server’s one core does everything: queries, commits and the worker threads, which get the load generator’s core ' +
          'where said.',
      ],
      columns: [
        { metric: 'rate', title: 'queries/s', digits: 0 },
        { metric: 'events', title: 'events/s committed', digits: 0 },
        { metric: 'cpuUs', title: 'server CPU µs/query', digits: 1 },
        { metric: 'mainCpuUs', title: 'main thread CPU µs/query', digits: 1 },
        { metric: 'busy', title: 'server busy %', digits: 0 },
        { metric: 'p50', title: 'p50 ms', digits: 2 },
        { metric: 'p99', title: 'p99 ms', digits: 2 },
      ],
      samples: this.#samples,
      targets: contenders.map(({ name }) => this.#target(name)),
      trouble: this.#trouble.list,
    };
  }

  #target(name: string): Target {
    return {
      what: `${name}: writing / at rest, queries/s`,
      measured: this.#samples.compare('rate', `${name}, writing`, `${name}, at rest`, ratio),
      bound: { kind: 'at least', value: 0.8 },
      digits: 2,
    };
  }
}
