/**
 * A node's one connection to NATS as the rest of it is used: the buckets, the log of events and the messages that it shares with
 * the others. What is built on it, from ownership to the registry's mirror, knows nothing else of NATS.
 */
import type { NatsConnection } from '@nats-io/nats-core';
import type { Clock } from '../../lib/clock.ts';
import { StreamedDeviceEvents, type DeviceEvents } from '../events/device-events.ts';
import { JetStreamSource } from '../events/jetstream-source.ts';
import type { TailSource } from '../events/stream-tail.ts';
import type { KvStore } from './kv-store.ts';
import { NatsKvStore } from './nats-kv-store.ts';
import { NatsLink, type NatsLinkOptions } from './nats-link.ts';
import type { BucketName } from './nats-names.ts';

/** The stream that all nodes' events are in. */
export interface EventTail extends TailSource {
  /** The sequence that was given last, also when nothing of it is kept. Rejects while NATS is away. */
  last(): Promise<number>;
}

export type NodeTransport = Omit<NatsTransport, 'jetstream' | 'streams' | 'connection'> & {
  /** Throws before the first connection: callers have seen `isUnavailable` false once, or waited for `ready`. */
  readonly connection: Pick<NatsConnection, 'publish' | 'flush' | 'subscribe'>;
};

export class NatsTransport extends NatsLink {
  readonly deviceEvents: DeviceEvents = new StreamedDeviceEvents(this);
  readonly eventTail: EventTail = new JetStreamSource(this, this.names.eventStream);
  readonly #clock: Clock;

  /** Rejects with a sentence when the URL or the credentials cannot be used; NATS itself may be away. */
  static override open(options: NatsLinkOptions): Promise<NatsTransport> {
    return new NatsTransport(options).dialed();
  }

  private constructor(options: NatsLinkOptions) {
    super(options);
    this.#clock = options.clock;
  }

  bucket(name: BucketName): KvStore {
    return new NatsKvStore(this, name, this.#clock);
  }

  /** The same bucket, followed as a stream. */
  bucketTail(name: BucketName): TailSource {
    return new JetStreamSource(this, this.names.bucketStream(name));
  }
}
