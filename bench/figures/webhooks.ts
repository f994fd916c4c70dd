/** From an event to its receipt at a healthy endpoint, against a bare HTTP POST. */
import { setTimeout as sleep } from 'node:timers/promises';
import { moduleBeside } from '../../src/lib/module-worker.ts';
import {
  atMost,
  contendersIn,
  interleave,
  ratioTo,
  type AnyScale,
  type Benchmark,
  type Measurement,
} from '../harness/benchmark.ts';
import { Player, serverCore, type Child } from '../harness/child.ts';
import { ChildService } from '../harness/ipc.ts';
import { startReveille, temporaryDirectory } from '../harness/servers.ts';
import type { Trouble } from '../harness/trouble.ts';
import type { EventSourceProtocol } from '../load/marked-events.ts';
import type { ReceiverProtocol, ReceiverReading } from '../load/receiver-process.ts';

const plans = {
  full: { devices: 10_000, warmUpSeconds: 2, seconds: 10, ratePerSecond: 1000 },
  short: { devices: 500, warmUpSeconds: 1.5, seconds: 2.5, ratePerSecond: 500 },
  smoke: { devices: 200, warmUpSeconds: 0.2, seconds: 0.5, ratePerSecond: 200 },
};

interface EventSource {
  readonly child: Child;
  stop(): Promise<void>;
}

interface Contender {
  readonly row: string;
  readonly start: (receiverPort: number, devices: number) => Promise<EventSource>;
}

const bareEntry = moduleBeside('../peers/bare-webhook-process', import.meta.url);

const bare: Contender = {
  row: 'bare POST',
  start: async (receiverPort) =>
    new Player(bareEntry, { core: serverCore, parameters: [String(receiverPort)] }),
};
const durable: Contender = { row: 'commit, then POST', start: startDurable };
const contenders: readonly Contender[] = [bare, durable, { row: 'Reveille', start: startOurs }];

async function startDurable(receiverPort: number): Promise<EventSource> {
  const { directory, remove } = temporaryDirectory();
  const player = new Player(bareEntry, { core: serverCore, parameters: [String(receiverPort), directory] });
  const stop = async (): Promise<void> => {
    await player.stop();
    remove();
  };
  return { child: player.child, stop };
}

function startOurs(receiverPort: number, devices: number): Promise<EventSource> {
  return startReveille({
    devices,
    webhookUrl: `http://127.0.0.1:${receiverPort}/hook`,
    entry: moduleBeside('../peers/reveille-writing-process', import.meta.url),
    env: { REVEILLE_WEBHOOKS_ALLOW_LOCAL: 'true' },
  });
}

function measure(measurement: Measurement<AnyScale>): Promise<void> {
  const { scale, runs, samples, trouble } = measurement;
  return interleave(contendersIn(measurement, contenders), runs, async (contender) =>
    samples.add(contender.row, await measureOne(contender, plans[scale], trouble)),
  );
}

async function measureOne(
  { row, start }: Contender,
  { devices, warmUpSeconds, seconds, ratePerSecond }: (typeof plans)['full'],
  trouble: Trouble,
): Promise<Record<string, number>> {
  const receiver = new Player<ReceiverProtocol>(moduleBeside('../load/receiver-process', import.meta.url));
  let source: EventSource | null = null;
  try {
    source = await start(await receiver.service.ask('listen', null), devices);
    const { child } = source;
    const writer = new ChildService<EventSourceProtocol>(child.process, 'own');
    const deliver = async (forSeconds: number): Promise<ReceiverReading> => {
      await writer.ask('write', { devices, ratePerSecond });
      await sleep(forSeconds * 1000);
      const written = await writer.ask('rest', null);
      const reading = await receiver.service.ask('read', written);
      const lost = written - reading.received;
      if (lost > 0) trouble.add(`${row}: ${lost} of ${written} events did not come`);
      if (reading.strange > 0) trouble.add(`${row}: ${reading.strange} bodies were no event of ours`);
      return reading;
    };
    await deliver(warmUpSeconds);
    await receiver.service.ask('reset', null);
    await child.probe.ask('reset', null);
    const { latency } = await deliver(seconds);
    const spent = await child.probe.ask('read', null);
    return {
      p50: latency.p50Ms,
      p99: latency.p99Ms,
      max: latency.maxMs,
      rate: latency.count / seconds,
      cpuUs: (spent.cpuSeconds / latency.count) * 1e6,
      busy: (spent.cpuSeconds / spent.wallSeconds) * 100,
    };
  } finally {
    await source?.stop();
    await receiver.stop();
  }
}

const { devices, seconds, ratePerSecond } = plans.full;

export const webhooks: Benchmark = {
  title: 'Event to webhook receipt',
  runs: 3,
  notes: [
    `${ratePerSecond} events/s of ${devices} devices for ${seconds} s, one hook for all: from the append to the log to the whole body at the ` +
      'receiver. Bare: `node:http` with a keep-alive agent posts the same body at once; “commit, then POST” stores ' +
      'the event in lmdb first, on one thread.',
  ],
  columns: [
    { metric: 'p50', title: 'p50 ms', digits: 3 },
    { metric: 'p99', title: 'p99 ms', digits: 3 },
    { metric: 'max', title: 'longest ms', digits: 1 },
    { metric: 'cpuUs', title: 'server CPU µs/event', digits: 1 },
  ],
  targets: [
    {
      what: 'Event to webhook p50, against a bare POST',
      row: 'Reveille',
      metric: 'p50',
      unit: 'ms',
      compared: ratioTo(bare.row),
      bound: null,
    },
    {
      what: '… against a commit and then a POST',
      row: 'Reveille',
      metric: 'p50',
      unit: 'ms',
      compared: ratioTo(durable.row),
      bound: atMost(1.1),
    },
  ],
  watched: [
    {
      what: 'CPU of an event to a webhook',
      row: 'Reveille',
      metric: 'cpuUs',
      unit: 'µs',
      peer: { row: bare.row, metric: 'cpuUs' },
    },
  ],
  measure,
};
