/** Figure: credential issuance and call status, against connectivity at the same server; memory of a live session. */
import type { Figure, Target } from './figure.ts';
import type { Plan } from './plan.ts';
import { closedMetrics, QueryBackend, queryConnections } from './query-backend.ts';
import { interleave } from './rounds.ts';
import { ratio, Samples } from './samples.ts';
import { startReveille, type ServerUnderTest, type Verification } from './servers.ts';
import type { AskedKind } from './signed-requests.ts';
import { Trouble } from './trouble.ts';

const verifications: readonly Verification[] = ['inline', 'pool'];
const kinds: readonly AskedKind[] = ['connectivity', 'call-status', 'credentials'];

export async function measureCalls(plan: Plan): Promise<Figure> {
  const study = new CallStudy(plan);
  try {
    await interleave(verifications, plan.runs, (verification, round) => study.measure(verification, round));
    return study.describe();
  } finally {
    await study.stop();
  }
}

class CallStudy {
  readonly #plan: Plan['calls'];
  readonly #samples = new Samples();
  readonly #trouble = new Trouble();
  readonly #backend: QueryBackend;

  constructor({ calls }: Plan) {
    this.#plan = calls;
    this.#backend = new QueryBackend(calls, this.#trouble);
  }

  stop(): Promise<void> {
    return this.#backend.stop();
  }

  /** One server is asked for all kinds, another one first in each round; a second one holds sessions for their memory. */
  async measure(verification: Verification, round: number): Promise<void> {
    const first = round % kinds.length;
    await this.#withServer(verification, async (server) => {
      for (const kind of [...kinds.slice(first), ...kinds.slice(0, first)])
        this.#samples.add(
          `${verification}: ${kind}`,
          await this.#ask(`${verification}: ${kind}`, kind, server),
        );
    });
    if (verification === 'inline') await this.#withServer(verification, (server) => this.#weigh(server));
  }

  async #ask(who: string, kind: AskedKind, server: ServerUnderTest): Promise<Record<string, number>> {
    const { warmUpSeconds, seconds } = this.#plan;
    await this.#backend.sign(kind);
    await this.#backend.ask(who, server, warmUpSeconds, null);
    return closedMetrics(await this.#backend.ask(who, server, seconds, null));
  }

  /** As many sessions as devices, each begun once. */
  async #weigh(server: ServerUnderTest): Promise<void> {
    const { devices, warmUpSeconds, issuedPerSecond } = this.#plan;
    await this.#backend.sign('connectivity');
    await this.#backend.ask('before the sessions', server, warmUpSeconds, null);
    await this.#backend.sign('credentials');
    const before = await server.child.probe.ask('memory', null);
    await this.#backend.ask('the sessions', server, devices / issuedPerSecond, issuedPerSecond);
    const after = await server.child.probe.ask('memory', null);
    this.#samples.add(sessions, {
      bytes: (after.rssAnonBytes - before.rssAnonBytes) / devices,
      liveBytes: (after.liveBytes - before.liveBytes) / devices,
    });
  }

  async #withServer(
    verification: Verification,
    use: (server: ServerUnderTest) => Promise<void>,
  ): Promise<void> {
    const server = await startReveille({ devices: this.#plan.devices, verification });
    try {
      await this.#backend.withSleepingDevices(verification, server, () => use(server));
    } finally {
      await server.stop();
    }
  }

  describe(): Figure {
    const { devices, dates, seconds, issuedPerSecond } = this.#plan;
    return {
      name: 'calls',
      title: 'Call credentials and call status',
      notes: [
        `${devices * dates} distinct signed requests of each kind over ${devices} devices that sleep at the server; a closed ` +
          `loop over ${queryConnections} keep-alive connections; default settings; ${seconds} s after a warm-up; the kinds ` +
          'take turns at one server, another one first in each run.',
        'Credentials: every request is a room of its own and begins a session, which is committed before the answer; a fifth of ' +
          'a device ends its oldest.',
        `Live sessions: ${devices} of them, begun at ${issuedPerSecond}/s, memory as in the figure of a sleeping device; ` +
          'keys and tokens of a usual length (88 and 128 characters) are part of each.',
      ],
      columns: [
        { metric: 'rate', title: 'requests/s', digits: 0 },
        { metric: 'cpuUs', title: 'server CPU µs/request', digits: 1 },
        { metric: 'mainCpuUs', title: 'main thread CPU µs/request', digits: 1 },
        { metric: 'p50', title: 'p50 ms', digits: 2 },
        { metric: 'p99', title: 'p99 ms', digits: 2 },
        { metric: 'bytes', title: 'bytes/session', digits: 0 },
        { metric: 'liveBytes', title: 'alive in the heap and its buffers', digits: 0 },
      ],
      samples: this.#samples,
      targets: verifications.flatMap((verification) => [
        this.#target(verification, 'credentials', 0.35),
        this.#target(verification, 'call-status', 0.9),
      ]),
      trouble: this.#trouble.list,
    };
  }

  #target(verification: Verification, kind: AskedKind, value: number): Target {
    const [ours, theirs] = [`${verification}: ${kind}`, `${verification}: connectivity`];
    return {
      what: `${ours} / connectivity, rate`,
      measured: this.#samples.compare('rate', ours, theirs, ratio),
      bound: { kind: 'at least', value },
      digits: 2,
    };
  }
}

const sessions = 'live sessions';
