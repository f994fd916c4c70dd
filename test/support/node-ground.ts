/** The shared state of nodes as one node reaches it: here in memory, over NATS in nats-ground.ts. */
import { SystemClock } from '../../src/lib/system-clock.ts';
import type { DeviceEvents } from '../../src/cluster/events/device-events.ts';
import type { MembersLink } from '../../src/cluster/membership/nats-leases.ts';
import type { KvStore } from '../../src/cluster/nats/kv-store.ts';
import type { TailSource } from '../../src/cluster/events/stream-tail.ts';
import { MemoryBucket, MemoryKvStore } from './memory-kv-store.ts';
import { MemoryStream } from './memory-stream.ts';
import { FakeLink } from './ownership-scene.ts';
import type { Ending } from './temporary-store.ts';

export interface NodeGround {
  readonly link: MembersLink;
  readonly rows: KvStore;
  readonly heartbeats: KvStore;
  readonly events: DeviceEvents;
  readonly eventSource: TailSource;
  readonly wakeups: KvStore;
  readonly calls: KvStore;
  cut(): Promise<void>;
}

/** Each call joins as another node. */
export type JoinGround = (ending: Ending) => Promise<NodeGround>;

export function memoryGround(): JoinGround {
  const [rows, heartbeats] = [new MemoryBucket(), new MemoryBucket()];
  const [wakeups, calls] = [new MemoryKvStore(), new MemoryKvStore()];
  const stream = new MemoryStream(new SystemClock());
  return async () => {
    const link = new FakeLink();
    const ways = { rows: rows.open(), heartbeats: heartbeats.open() };
    return {
      link,
      ...ways,
      events: stream,
      eventSource: stream,
      wakeups,
      calls,
      async cut() {
        ways.rows.isUnavailable = true;
        ways.heartbeats.isUnavailable = true;
        link.turn(true);
      },
    };
  };
}
