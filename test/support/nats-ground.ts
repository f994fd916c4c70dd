/** What nodes have in common in a real NATS, apart from what other tests have there. */
import { SystemClock } from '../../src/base/system-clock.ts';
import { StreamedDeviceEvents } from '../../src/cluster/device-events.ts';
import { JetStreamSource } from '../../src/cluster/jetstream-source.ts';
import { NatsBucket } from '../../src/cluster/nats-bucket.ts';
import { NatsShelf } from '../../src/cluster/shelf.ts';
import { linkTo } from './nats-scene.ts';
import type { JoinGround } from './node-ground.ts';

const clock = new SystemClock();
let made = 0;

/** A prefix that nobody else has. */
function ownPrefix(): string {
  return `test-${(made += 1)}`;
}

export function natsGround(url: string): JoinGround {
  const prefix = ownPrefix();
  return async (ending) => {
    const link = await linkTo(ending, url, { prefix });
    await link.ready();
    return {
      link,
      rows: new NatsBucket(link, 'rows', clock),
      beats: new NatsBucket(link, 'beats', clock),
      events: new StreamedDeviceEvents(link),
      eventSource: new JetStreamSource(link, link.names.eventStream),
      wakeups: new NatsShelf(link, 'wakeups'),
      calls: new NatsShelf(link, 'calls'),
      cut: () => link.close(),
    };
  };
}
