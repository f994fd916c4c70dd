/** Figure: from an event to its receipt at a healthy endpoint, against a bare HTTP POST. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Child, loadCore, serverCore } from './child.ts';
import type { Figure, Target } from './figure.ts';
import type { LocalLegService } from './ipc.ts';
import type { Plan } from './plan.ts';
import { receiverService, type ReceiverProtocol, type ReceiverReading } from './receiver-protocol.ts';
import { interleave } from './rounds.ts';
import { ratio, Samples } from './samples.ts';
import { startReveille } from './servers.ts';
import { Trouble } from './trouble.ts';
import { eventSourceService, type EventSourceProtocol } from './event-source-protocol.ts';

interface EventSource {
  readonly child: Child;
  stop(): Promise<void>;
}

interface Contender {
  readonly name: string;
  start(receiverPort: number, devices: number): Promise<EventSource>;
}

const bare: Contender = { name: 'bare POST', start: startBare };
const ours: Contender = { name: 'Reveille', start: startOurs };

async function startBare(receiverPort: number): Promise<EventSource> {
  const entry = new URL('../peers/bare-webhook-process.ts', import.meta.url);
  const child = new Child({ entry, core: serverCore, parameters: [String(receiverPort)] });
  child.process.stdout?.resume();
  return { child, stop: () => child.stop() };
}

function startOurs(receiverPort: number, devices: number): Promise<EventSource> {
  return startReveille({
    devices,
    webhookUrl: `http://127.0.0.1:${receiverPort}/hook`,
    writesEvents: true,
    env: { REVEILLE_WEBHOOKS_ALLOW_LOCAL: 'true' },
  });
}

export async function measureWebhooks(plan: Plan): Promise<Figure> {
  const samples = new Samples();
  const trouble = new Trouble();
  await interleave([bare, ours], plan.runs, async (contender) => {
    samples.add(contender.name, await measure(contender, plan, trouble));
  });
  return describe(plan, samples, trouble);
}

async function measure(contender: Contender, plan: Plan, trouble: Trouble): Promise<Record<string, number>> {
  const { devices, warmUpSeconds, seconds } = plan.webhooks;
  const { child: receiver, service } = startReceiver();
  let source: EventSource | null = null;
  try {
    source = await contender.start(await service.ask('listen', null), devices);
    const { probe } = source.child;
    const delivery = new Delivery(
      source.child.service<EventSourceProtocol>(eventSourceService),
      service,
      plan,
    );
    await delivery.run(warmUpSeconds);
    await service.ask('reset', null);
    await probe.ask('reset', null);
    const { written, reading } = await delivery.run(seconds);
    const spent = await probe.ask('read', null);
    trouble.expectDelivered(contender.name, written, reading);
    const { latency, repeats } = reading;
    return {
      p50: latency.p50Ms,
      p99: latency.p99Ms,
      max: latency.maxMs,
      rate: latency.count / seconds,
      repeats,
      cpuUs: (spent.cpuSeconds / latency.count) * 1e6,
      busy: (spent.cpuSeconds / spent.wallSeconds) * 100,
    };
  } finally {
    await source?.stop();
    await receiver.stop();
  }
}

function startReceiver(): { child: Child; service: LocalLegService<ReceiverProtocol> } {
  const child = new Child({ entry: new URL('./receiver-process.ts', import.meta.url), core: loadCore });
  child.process.stdout?.resume();
  return { child, service: child.service<ReceiverProtocol>(receiverService) };
}

class Delivery {
  readonly #writer: LocalLegService<EventSourceProtocol>;
  readonly #receiver: LocalLegService<ReceiverProtocol>;
  readonly #plan: Plan['webhooks'];

  constructor(
    writer: LocalLegService<EventSourceProtocol>,
    receiver: LocalLegService<ReceiverProtocol>,
    { webhooks }: Plan,
  ) {
    this.#writer = writer;
    this.#receiver = receiver;
    this.#plan = webhooks;
  }

  /** Resolves when everything that was ever written has come, or will not. */
  async run(seconds: number): Promise<{ written: number; reading: ReceiverReading }> {
    const { devices, eventsPerSecond: ratePerSecond } = this.#plan;
    await this.#writer.ask('write', { devices, ratePerSecond });
    await sleep(seconds * 1000);
    const written = await this.#writer.ask('rest', null);
    return { written, reading: await this.#receiver.ask('read', written) };
  }
}

function describe({ webhooks }: Plan, samples: Samples, trouble: Trouble): Figure {
  const { devices, seconds, eventsPerSecond } = webhooks;
  return {
    name: 'webhooks',
    title: 'Event to webhook receipt',
    notes: [
      `${eventsPerSecond} events/s of ${devices} devices in turn for ${seconds} s after a warm-up, one application with one ` +
        'hook for all types. From the moment an event is appended to the log, or posted, to when the receiver has its ' +
        'whole body; one clock for all processes. Each must come at least once.',
      'In it, for us: the commit, the way to the thread that sends, the signature, the POST. Default settings but ' +
        'REVEILLE_WEBHOOKS_ALLOW_LOCAL=true.',
      'Bare: node:http with a keep-alive agent posts the same body at the moment the event happens; it stores nothing, ' +
        'signs nothing, keeps no order and never tries again.',
      'The receiver is one node:http process on the load’s core, which answers 200 at once. Events are made by a timer of ' +
        '1 ms in the process under test, for both.',
    ],
    columns: [
      { metric: 'p50', title: 'p50 ms', digits: 3 },
      { metric: 'p99', title: 'p99 ms', digits: 3 },
      { metric: 'max', title: 'max ms', digits: 1 },
      { metric: 'rate', title: 'receipts/s', digits: 0 },
      { metric: 'repeats', title: 'sent again', digits: 0 },
      { metric: 'cpuUs', title: 'server CPU µs/event', digits: 1 },
      { metric: 'busy', title: 'server busy %', digits: 0 },
    ],
    samples,
    targets: [
      { ...against(samples, 'p50'), bound: { kind: 'at most', value: 3 } },
      against(samples, 'p99'),
      against(samples, 'cpuUs', 'server CPU per event'),
    ],
    trouble: trouble.list,
  };
}

function against(samples: Samples, metric: string, what = metric): Target {
  return {
    what: `Reveille / bare POST, ${what}`,
    measured: samples.compare(metric, ours.name, bare.name, ratio),
    bound: null,
    digits: 2,
  };
}
