/** The shared state of nodes in a real NATS, separate for each test. */
import { SystemClock } from '../../src/lib/system-clock.ts';
import { StreamedDeviceEvents } from '../../src/cluster/events/device-events.ts';
import { JetStreamSource } from '../../src/cluster/events/jetstream-source.ts';
import type { NatsTransport } from '../../src/cluster/nats/node-transport.ts';
import type { BucketName } from '../../src/cluster/nats/nats-names.ts';
import { NatsKvStore } from '../../src/cluster/nats/nats-kv-store.ts';
import { linkTo } from './nats-scene.ts';
import type { JoinGround } from './node-ground.ts';
import type { Ending } from './temporary-store.ts';

const clock = new SystemClock();
let made = 0;

/** Each call joins as another node. */
export function joinNats(url: string): (ending: Ending) => Promise<NatsTransport> {
  const prefix = `test-${(made += 1)}`;
  return async (ending) => {
    const link = await linkTo(ending, url, { prefix });
    await link.ready();
    return link;
  };
}

/** One bucket through the connections of two nodes. */
export async function natsBucket(
  t: Ending,
  url: string,
  bucket: BucketName,
): Promise<{ readonly one: NatsKvStore; readonly other: NatsKvStore }> {
  const join = joinNats(url);
  const open = async (): Promise<NatsKvStore> => new NatsKvStore(await join(t), bucket, clock);
  return { one: await open(), other: await open() };
}

export function natsGround(url: string): JoinGround {
  const join = joinNats(url);
  return async (ending) => {
    const link = await join(ending);
    return {
      link,
      rows: new NatsKvStore(link, 'rows', clock),
      heartbeats: new NatsKvStore(link, 'heartbeats', clock),
      events: new StreamedDeviceEvents(link),
      eventSource: new JetStreamSource(link, link.names.eventStream),
      wakeups: new NatsKvStore(link, 'wakeups', clock),
      calls: new NatsKvStore(link, 'calls', clock),
      cut: () => link.close(),
    };
  };
}
