/** A node's transport over a simulated connection: buckets, tails, device events and messages. */
import type { Subscription, SubscriptionOptions, PublishOptions, Payload, Msg } from '@nats-io/nats-core';
import type { DeviceEvents, EventPut, StoredEvent } from '../../src/cluster/events/device-events.ts';
import type { OpenTail, TailSource } from '../../src/cluster/events/stream-tail.ts';
import type { KvChange, KvStore } from '../../src/cluster/nats/kv-store.ts';
import { NatsNames, type BucketName } from '../../src/cluster/nats/nats-names.ts';
import type { EventTail, NodeTransport } from '../../src/cluster/nats/node-transport.ts';
import type { Cancel } from '../../src/lib/clock.ts';
import type { DeviceId } from '../../src/model/ids.ts';
import type { SharedLogEvent } from '../../src/protocol/cluster/stored-values.ts';
import { BucketStore, type MemoryBucket } from '../support/memory-kv-store.ts';
import { PushedMessages } from '../support/pushed-messages.ts';
import type { NatsConnection } from './nats-connection.ts';
import type { EventStreamServer, NatsServer, StreamMessage } from './nats-server.ts';

export class SimulatedTransport implements NodeTransport {
  readonly names = new NatsNames('simulated');
  readonly connection: NodeTransport['connection'];
  /** Replaceable by a canary. */
  deviceEvents: DeviceEvents;
  readonly eventTail: EventTail;
  readonly #link: NatsConnection;
  readonly #server: NatsServer;
  readonly node: string;
  /** Wraps a bucket, for a canary. */
  wrap: (name: BucketName, store: KvStore) => KvStore = (_name, store) => store;

  constructor(link: NatsConnection, server: NatsServer, node: string) {
    this.#link = link;
    this.#server = server;
    this.node = node;
    this.connection = messages(link);
    this.deviceEvents = new StreamEvents(link, server.events);
    this.eventTail = new StreamSource(link, server.events);
  }

  get isUnavailable(): boolean {
    return this.#link.isUnavailable;
  }

  onChange(notify: (isUnavailable: boolean) => void): Cancel {
    return this.#link.onChange(notify);
  }

  ready(): Promise<void> {
    return this.#link.ready();
  }

  bucket(name: BucketName): KvStore {
    return this.wrap(name, new LinkedStore(this.#link, this.#server.buckets[name]));
  }

  bucketTail(name: BucketName): TailSource {
    return new BucketSource(name, this.#link, this.#server.buckets[name]);
  }

  close(): Promise<void> {
    return this.#link.close();
  }
}

/** Messages to subjects, with the methods of the NATS client. */
function messages(link: NatsConnection): NodeTransport['connection'] {
  return {
    publish(subject: string, payload?: Payload, options?: PublishOptions): void {
      link.publish({ subject, data: payload as Uint8Array, reply: options?.reply });
    },
    flush: () => link.request(() => undefined),
    subscribe(pattern: string, options: SubscriptionOptions = {}): Subscription {
      const unsubscribe = link.subscribe(pattern, (message) => {
        void options.callback?.(null, message as unknown as Msg);
      });
      return { unsubscribe } as unknown as Subscription;
    },
  };
}

class LinkedStore extends BucketStore {
  readonly #link: NatsConnection;

  constructor(link: NatsConnection, bucket: MemoryBucket) {
    super(bucket, (act) => link.request(act));
    this.#link = link;
  }

  async watch(onChange: (change: KvChange) => void): Promise<Cancel> {
    let seen = 0;
    let isStopped = false;
    const send = (change: KvChange): void =>
      this.#link.send(() => {
        if (isStopped) return;
        seen = change.revision;
        onChange(change);
      });
    const stop = await this.#link.requestFollowed(() =>
      this.#link.follow(() => {
        for (const change of this.bucket.behind(seen)) send(change);
        this.bucket.followers.add(send);
        return () => this.bucket.followers.delete(send);
      }),
    );
    return () => {
      isStopped = true;
      stop();
    };
  }
}

interface Followable {
  readonly last: number;
  behind(sequence: number): readonly StreamMessage[];
  follow(follower: (message: StreamMessage) => void): Cancel;
}

async function openTail(link: NatsConnection, stream: Followable, after: number): Promise<OpenTail> {
  const pushed = new PushedMessages({ dropsAtClose: true });
  let [last, pending] = [0, 0];
  const stop = await link.requestFollowed(() => {
    const found = stream.behind(after);
    [last, pending] = [stream.last, found.length];
    const follow = (): Cancel => {
      for (const [at, message] of found.entries())
        link.send(() => pushed.push({ ...message, pending: found.length - at - 1 }));
      return stream.follow((message) => link.send(() => pushed.push({ ...message, pending: 0 })));
    };
    return link.follow(follow, () => pushed.close());
  });
  const close = (): void => {
    stop();
    pushed.close();
  };
  return { messages: pushed, last, pending, close };
}

class BucketSource implements TailSource {
  readonly stream: string;
  readonly #link: NatsConnection;
  readonly #bucket: MemoryBucket;

  constructor(stream: string, link: NatsConnection, bucket: MemoryBucket) {
    this.stream = stream;
    this.#link = link;
    this.#bucket = bucket;
  }

  open(after: number): Promise<OpenTail> {
    const bucket = this.#bucket;
    const followable: Followable = {
      last: bucket.revision,
      behind: (sequence) => bucket.behind(sequence).map(messageOf),
      follow(notify) {
        const follower = (change: KvChange): void => notify(messageOf(change));
        bucket.followers.add(follower);
        return () => bucket.followers.delete(follower);
      },
    };
    return openTail(this.#link, followable, after);
  }

  newest(): Promise<number> {
    return this.#link.request(() => this.#bucket.revision);
  }

  resumeAfter(): Promise<void> {
    return Promise.reject(new Error('a bucket is never made anew here'));
  }
}

function messageOf({ revision, key, value }: KvChange): StreamMessage {
  return { sequence: revision, subject: key, data: value };
}

class StreamSource implements EventTail {
  readonly stream = 'events';
  readonly #link: NatsConnection;
  readonly #events: EventStreamServer;

  constructor(link: NatsConnection, events: EventStreamServer) {
    this.#link = link;
    this.#events = events;
  }

  open(after: number): Promise<OpenTail> {
    const events = this.#events;
    const followable: Followable = {
      get last() {
        return events.last;
      },
      behind: (sequence) =>
        events.stored
          .slice(sequence)
          .map(({ sequence: at, data }) => ({ sequence: at, subject: 'event', data })),
      follow(follower) {
        events.followers.add(follower);
        return () => events.followers.delete(follower);
      },
    };
    return openTail(this.#link, followable, after);
  }

  last(): Promise<number> {
    return this.#link.request(() => this.#events.last);
  }

  newest(): Promise<number> {
    return this.last();
  }

  resumeAfter(): Promise<void> {
    return Promise.reject(new Error('the stream is never made anew here'));
  }
}

class StreamEvents implements DeviceEvents {
  readonly #link: NatsConnection;
  readonly #events: EventStreamServer;

  constructor(link: NatsConnection, events: EventStreamServer) {
    this.#link = link;
    this.#events = events;
  }

  last(deviceId: DeviceId): Promise<StoredEvent | null> {
    return this.#link.request(() => this.#events.lastOf(deviceId));
  }

  next(deviceId: DeviceId, sequence: number): Promise<StoredEvent | null> {
    return this.#link.request(() => this.#events.nextOf(deviceId, sequence));
  }

  put(event: SharedLogEvent, last: number): Promise<EventPut> {
    return this.#link.request(() => this.#events.put(event, last));
  }
}
