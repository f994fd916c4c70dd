/** Figure: what a dead webhook endpoint with a backlog costs callers and memory, against the same backlog and no webhook. */
import { createServer } from 'node:net';
import type { Figure, Target } from './figure.ts';
import type { LocalLegService } from './ipc.ts';
import type { Plan } from './plan.ts';
import { QueryBackend } from './query-backend.ts';
import { interleave } from './rounds.ts';
import { difference, Samples } from './samples.ts';
import { startReveille } from './servers.ts';
import { Trouble } from './trouble.ts';
import { eventSourceService, type WriterProtocol } from './event-source-protocol.ts';

const contenders = ['no webhook', 'dead webhook'] as const;
type Contender = (typeof contenders)[number];

const mebibyte = 1024 * 1024;
/** The window, some dozens of failed events and the thread's own buffers. */
const memoryMiBMax = 16;
/** What one step of a 1 ms timer can say. */
const latencyMsMax = 0.5;

export async function measureDeadWebhook(plan: Plan): Promise<Figure> {
  const samples = new Samples();
  const trouble = new Trouble();
  const backend = new QueryBackend(plan.deadWebhook, trouble);
  let signedRound = -1;
  try {
    await interleave(contenders, plan.runs, async (contender, round) => {
      if (round !== signedRound) await backend.sign();
      signedRound = round;
      samples.add(contender, await measure(contender, plan.deadWebhook, backend));
    });
    return describe(plan.deadWebhook, samples, trouble);
  } finally {
    await backend.stop();
  }
}

async function measure(
  contender: Contender,
  plan: Plan['deadWebhook'],
  backend: QueryBackend,
): Promise<Record<string, number>> {
  const { devices, backlog, eventsPerSecond, queriesPerSecond, seconds } = plan;
  const server = await startReveille({
    devices,
    writesEvents: true,
    env: { REVEILLE_WEBHOOKS_ALLOW_LOCAL: 'true' },
    ...(contender === 'dead webhook' && { webhookUrl: `http://127.0.0.1:${await closedPort()}/hook` }),
  });
  try {
    const { probe } = server.child;
    const writer: LocalLegService<WriterProtocol> = server.child.service(eventSourceService);
    const before = await probe.ask('memory', null);
    await writer.ask('write', { devices, ratePerSecond: eventsPerSecond });
    while ((await writer.ask('head', null)).head < backlog) await backend.ask(contender, server, 0.2, 10);
    const written = await writer.ask('rest', null);
    const after = await probe.ask('memory', null);
    const { load, spent } = await backend.ask(contender, server, seconds, queriesPerSecond);
    return {
      written,
      grownMiB: (after.rssAnonBytes - before.rssAnonBytes) / mebibyte,
      p50: load.latency.p50Ms,
      p99: load.latency.p99Ms,
      loopDelayP99: spent.loopDelayMs.p99,
      busy: (spent.cpuSeconds / spent.wallSeconds) * 100,
    };
  } finally {
    await server.stop();
  }
}

/** Nobody listens there: it was free a moment ago. */
function closedPort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(address !== null && typeof address === 'object' ? address.port : 0));
    });
  });
}

function describe(plan: Plan['deadWebhook'], samples: Samples, trouble: Trouble): Figure {
  const { backlog, eventsPerSecond, queriesPerSecond, seconds } = plan;
  return {
    name: 'dead-webhook',
    title: 'A dead webhook endpoint with a backlog',
    notes: [
      `${backlog} events are written at ${eventsPerSecond}/s for an application whose one hook goes to a port where nobody ` +
        'listens, or that has no hook. Memory: the growth of RssAnon over the writing, after two forced collections of the ' +
        'main thread.',
      `Then ${queriesPerSecond} signed connectivity queries/s for ${seconds} s, an open loop; default settings.`,
    ],
    columns: [
      { metric: 'written', title: 'events waiting', digits: 0 },
      { metric: 'grownMiB', title: 'grown MiB', digits: 1 },
      { metric: 'p50', title: 'query p50 ms', digits: 2 },
      { metric: 'p99', title: 'query p99 ms', digits: 2 },
      { metric: 'loopDelayP99', title: 'loop delay p99 ms', digits: 2 },
      { metric: 'busy', title: 'server busy %', digits: 0 },
    ],
    samples,
    targets: [
      against(samples, 'grownMiB', 'grown MiB', memoryMiBMax),
      against(samples, 'p50', 'query p50 ms', latencyMsMax),
      against(samples, 'p99', 'query p99 ms', latencyMsMax),
    ],
    trouble: trouble.list,
  };
}

function against(samples: Samples, metric: string, what: string, value: number): Target {
  return {
    what: `dead webhook − no webhook, ${what}`,
    measured: samples.compare(metric, 'dead webhook', 'no webhook', difference),
    bound: { kind: 'at most', value },
    digits: 2,
  };
}
