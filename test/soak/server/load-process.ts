/**
 * The load process of a server soak: devices, calls and backends. It appends measurements to the sample file, reports when all
 * devices sleep, and ends on the parent's order.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ReveilleClient } from '../../../src/client/reveille-client.ts';
import { openEngine } from '../../../src/media/codec/engine.ts';
import { siteCredential } from '../../support/site-server.ts';
import { readEvents, Receivers } from './backend-load.ts';
import { CallLoad } from './call-load.ts';
import { DeviceLoad } from './device-load.ts';
import { ErrorCounts, Latencies } from './latencies.ts';
import { sampleSeconds, type SoakHooks, type SoakPlan } from './plan.ts';
import { appendSample, nowSeconds } from './samples.ts';

export type LoadOrder =
  | {
      readonly kind: 'start';
      readonly file: string;
      readonly ports: {
        readonly api: number;
        readonly sleep: number;
        readonly signal: number;
        readonly media: number;
      };
    }
  | { readonly kind: 'stop' };

/** `hooks`: URLs of the webhook receivers, for the registry. `asleep`: all devices sleep. */
export type LoadReport = { readonly kind: 'hooks'; readonly hooks: SoakHooks } | { readonly kind: 'asleep' };

const plan = JSON.parse(process.argv[2] ?? '') as SoakPlan;
const lookMs = 100;
const receivers = await Receivers.open();
let stop: () => Promise<void> = () => Promise.resolve();

process.on('message', (order: LoadOrder) => void (order.kind === 'start' ? start(order) : end()));
process.once('disconnect', () => process.exit(1));
report({ kind: 'hooks', hooks: receivers.hooks });

async function start({ file, ports }: LoadOrder & { kind: 'start' }): Promise<void> {
  const errors = new ErrorCounts();
  const events = new Latencies();
  const client = new ReveilleClient({ origin: `http://127.0.0.1:${ports.api}`, credential: siteCredential });
  const devices = new DeviceLoad({ plan, ports, client, errors });
  const engine = await openEngine();
  if (!engine.ok) throw new Error(engine.error);
  const calls = new CallLoad({
    engine: engine.value,
    client,
    url: `ws://127.0.0.1:${ports.media}`,
    calls: plan.calls,
    changeSeconds: plan.callChangeSeconds,
    errors,
  });
  const reading = readEvents(client, events, errors);
  devices.start();
  while (devices.asleep < plan.devices) await sleep(lookMs);
  errors.read();
  report({ kind: 'asleep' });
  devices.startWaking();
  const calling = calls.run();
  const sampling = setInterval(() => {
    appendSample(file, {
      kind: 'load',
      at: nowSeconds(),
      asleep: devices.asleep,
      awake: devices.awake,
      wakeups: devices.wakeups.read(),
      events: events.read(),
      deliveries: receivers.deliveries.read(),
      pictures: calls.readPictures(),
      errors: errors.read(),
    });
  }, sampleSeconds * 1000);
  stop = async () => {
    clearInterval(sampling);
    calls.stop();
    await calling;
    devices.stop();
    client.close();
    await reading;
  };
}

async function end(): Promise<void> {
  await stop();
  receivers.close();
  process.exit(0);
}

function report(what: LoadReport): void {
  process.send?.(what);
}
