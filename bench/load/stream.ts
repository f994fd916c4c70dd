/** Figure: events a second from one node to another through the stream, against a node alone that writes its own log. */
import { setTimeout as sleep } from 'node:timers/promises';
import { eventSourceService, type WriterProtocol } from './event-source-protocol.ts';
import { CpuTally, relativeOf } from './family.ts';
import type { Figure } from './figure.ts';
import type { LocalLegService } from './ipc.ts';
import { hasNats, natsIsMissing, NatsUnderTest } from './nats.ts';
import { monotonicMs } from './peer-protocol.ts';
import type { Plan } from './plan.ts';
import { registryEntries } from './population.ts';
import { microsEach } from './process-time.ts';
import { interleave } from './rounds.ts';
import { ratio, Samples } from './samples.ts';
import { startReveille, type ReveilleServer } from './servers.ts';
import { Trouble } from './trouble.ts';

const alone = 'alone';
const twoNodes = 'two nodes';
/** More than either takes. */
const offeredPerSecond = 25_000;
const arrivedMsMax = 120_000;
const pollMs = 20;

export async function measureStream(plan: Plan): Promise<Figure> {
  const samples = new Samples();
  const trouble = new Trouble();
  const withNats = hasNats();
  const ways = [measureAlone, ...(withNats ? [measureNodes] : [])];
  await interleave(ways, plan.runs, (measure) => measure(plan, samples, trouble));
  return describe(plan, samples, trouble, withNats);
}

async function measureAlone(plan: Plan, samples: Samples, trouble: Trouble): Promise<void> {
  const { devices } = plan.stream;
  const server = await startReveille({ devices, writesEvents: true, core: null });
  try {
    const [source, tally] = [new Source(server), new CpuTally([relativeOf('a', server)])];
    const { written, startedMs } = await source.write(plan);
    const seconds = (await source.has(written, trouble)) - startedMs;
    samples.add(alone, { rate: written / (seconds / 1000), cpuUs: microsEach(tally.read(), written) });
  } finally {
    await server.stop();
  }
}

async function measureNodes(plan: Plan, samples: Samples, trouble: Trouble): Promise<void> {
  const { devices } = plan.stream;
  const nats = await NatsUnderTest.start(null);
  const nodes: ReveilleServer[] = [];
  const start = async (name: string, count: number): Promise<ReveilleServer> => {
    const env = nats.nodeEnv(name);
    const node = await startReveille({ devices: count, writesEvents: true, core: null, env });
    nodes.push(node);
    return node;
  };
  try {
    const a = await start('a', devices);
    await nats.keepsRegistry(registryEntries(devices));
    const b = await start('b', 0);
    const [source, other] = [new Source(a), new Source(b)];
    await other.begin();
    const tally = new CpuTally([relativeOf('a', a), relativeOf('b', b), { name: 'nats', pid: nats.pid }]);
    const { written, startedMs } = await source.write(plan, async (count) => {
      await nats.keeps('reveille_events', count, arrivedMsMax);
    });
    const publishedMs = monotonicMs();
    const arrivedMs = await other.has(written, trouble);
    samples.add(twoNodes, {
      publishRate: (written / (publishedMs - startedMs)) * 1000,
      rate: (written / (arrivedMs - startedMs)) * 1000,
      cpuUs: microsEach(tally.read('a'), written),
      otherUs: microsEach(tally.read('b'), written),
      natsUs: microsEach(tally.read('nats'), written),
    });
  } finally {
    for (const node of nodes) await node.stop();
    await nats.stop();
  }
}

/** A node that writes events, or sees them come. */
class Source {
  readonly #service: LocalLegService<WriterProtocol>;
  #before = 0;

  constructor({ child }: ReveilleServer) {
    this.#service = child.service<WriterProtocol>(eventSourceService);
  }

  async begin(): Promise<void> {
    this.#before = (await this.#service.ask('head', null)).head;
  }

  /** As fast as they are offered; resolves when all are written, and after `published`. */
  async write(
    { stream: { devices, events } }: Plan,
    published: (written: number) => Promise<void> = () => Promise.resolve(),
  ): Promise<{ written: number; startedMs: number }> {
    await this.begin();
    const startedMs = monotonicMs();
    await this.#service.ask('write', { devices, ratePerSecond: offeredPerSecond });
    await sleep((events / offeredPerSecond) * 1000);
    const written = await this.#service.ask('rest', null);
    await published(written);
    return { written, startedMs };
  }

  /** Resolves to when its log has so many more than at the beginning. */
  async has(count: number, trouble: Trouble): Promise<number> {
    const deadlineMs = monotonicMs() + arrivedMsMax;
    for (;;) {
      const { head, atMs } = await this.#service.ask('head', null);
      if (head - this.#before >= count) return atMs;
      if (atMs > deadlineMs) {
        trouble.add(`${count - head + this.#before} of ${count} events did not come`);
        return atMs;
      }
      await sleep(pollMs);
    }
  }
}

function describe({ stream }: Plan, samples: Samples, trouble: Trouble, withNats: boolean): Figure {
  const { devices, events } = stream;
  return {
    name: 'stream',
    title: 'Events through the stream',
    notes: [
      `About ${events} events of ${devices} devices in turn, offered at ${offeredPerSecond}/s, which is more than is taken. ` +
        'Alone: until the log has them. Two nodes: one writes; until the stream of NATS has them, and until the log of the ' +
        'other node has them all. From the first that is offered.',
      'Nothing is pinned: two nodes, nats-server and the benchmark share the machine’s processors.',
      ...(withNats ? [] : [`Not measured: two nodes; ${natsIsMissing}.`]),
    ],
    columns: [
      { metric: 'publishRate', title: 'events/s into the stream', digits: 0 },
      { metric: 'rate', title: 'events/s into the last log', digits: 0 },
      { metric: 'cpuUs', title: 'CPU µs/event of who writes', digits: 1 },
      { metric: 'otherUs', title: 'of the other node', digits: 1 },
      { metric: 'natsUs', title: 'of NATS', digits: 1 },
    ],
    samples,
    targets: withNats
      ? [
          {
            what: 'two nodes / alone, events/s into the last log',
            measured: samples.compare('rate', twoNodes, alone, ratio),
            bound: null,
            digits: 2,
          },
          {
            what: 'two nodes / alone, CPU per event of who writes',
            measured: samples.compare('cpuUs', twoNodes, alone, ratio),
            bound: null,
            digits: 2,
          },
        ]
      : [],
    trouble: trouble.list,
  };
}
