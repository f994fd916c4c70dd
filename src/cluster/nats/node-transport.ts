/**
 * A node's one connection to NATS as the rest of it is used: the buckets, the log of events and the messages that it shares with
 * the others. What is built on it, from ownership to the registry's mirror, knows nothing else of NATS.
 */
import type { NatsConnection } from '@nats-io/nats-core';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { StreamedDeviceEvents, type DeviceEvents } from '../events/device-events.ts';
import { JetStreamSource } from '../events/jetstream-source.ts';
import type { TailSource } from '../events/stream-tail.ts';
import type { KvStore } from './kv-store.ts';
import { NatsKvStore } from './nats-kv-store.ts';
import { NatsLink, type NatsLinkOptions } from './nats-link.ts';
import type { BucketName, NatsNames } from './nats-names.ts';

/** The stream that all nodes' events are in. */
export interface EventTail extends TailSource {
  /** The sequence that was given last, also when nothing of it is kept. Rejects while NATS is away. */
  last(): Promise<number>;
}

export interface NodeTransport {
  readonly names: NatsNames;
  readonly isUnavailable: boolean;
  /** Throws before the first connection: callers have seen `isUnavailable` false once, or waited for `ready`. */
  readonly connection: Pick<NatsConnection, 'publish' | 'flush' | 'subscribe'>;
  readonly deviceEvents: DeviceEvents;
  readonly eventTail: EventTail;
  /** Followers are called at every change, in the order they came. */
  onChange(follower: (isUnavailable: boolean) => void): Cancel;
  /** Resolves when streams and buckets are there. Pending while they cannot be made; never rejects. */
  ready(): Promise<void>;
  bucket(name: BucketName): KvStore;
  /** The same bucket, followed as a stream. */
  bucketTail(name: BucketName): TailSource;
  /** Drains what is under way, for 2 s at most. */
  close(): Promise<void>;
}

export class NatsTransport extends NatsLink implements NodeTransport {
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

  bucketTail(name: BucketName): TailSource {
    return new JetStreamSource(this, this.names.bucketStream(name));
  }
}
