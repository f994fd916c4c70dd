/**
 * In-memory NATS with the features that nodes use: buckets with compare-and-set, the event stream with its duplicate window,
 * and messages to subjects. It executes requests in order of arrival, and loses nothing that it has acknowledged; faults of
 * the network are in nats-connection.ts.
 */
import type { EventPut, StoredEvent } from '../../src/cluster/events/device-events.ts';
import { bucketNames, type BucketName } from '../../src/cluster/nats/nats-names.ts';
import type { DeviceId, EventId } from '../../src/model/ids.ts';
import { encodeSharedEvent, type SharedLogEvent } from '../../src/protocol/cluster/stored-values.ts';
import { MemoryBucket } from '../support/memory-kv-store.ts';

/** One write to a bucket or the stream, as its followers receive it. */
export interface StreamMessage {
  readonly sequence: number;
  readonly subject: string;
  readonly data: Uint8Array;
}

const duplicateWindowMs = 120_000;

export class EventStreamServer {
  readonly stored: (StoredEvent & { readonly event: SharedLogEvent; readonly data: Uint8Array })[] = [];
  readonly followers = new Set<(message: StreamMessage) => void>();
  readonly #newest = new Map<DeviceId, number>();
  readonly #ids = new Map<EventId, number>();
  readonly #wallMs: () => number;

  constructor(wallMs: () => number) {
    this.#wallMs = wallMs;
  }

  get last(): number {
    return this.stored.length;
  }

  put(event: SharedLogEvent, last: number): EventPut {
    const nowMs = this.#wallMs();
    const { deviceId } = event.draft;
    const writtenMs = this.#ids.get(event.id);
    if (writtenMs !== undefined && nowMs - writtenMs < duplicateWindowMs) return { kind: 'duplicate' };
    if ((this.#newest.get(deviceId) ?? 0) !== last) return { kind: 'conflict' };
    const sequence = this.last + 1;
    const data = encodeSharedEvent(event);
    this.stored.push({ sequence, storedAtMs: nowMs, event, data });
    this.#newest.set(deviceId, sequence);
    this.#ids.set(event.id, nowMs);
    for (const follower of Array.from(this.followers)) follower({ sequence, subject: 'event', data });
    return { kind: 'stored', sequence };
  }

  lastOf(deviceId: DeviceId): StoredEvent | null {
    const sequence = this.#newest.get(deviceId);
    return sequence === undefined ? null : (this.stored[sequence - 1] ?? null);
  }

  nextOf(deviceId: DeviceId, sequence: number): StoredEvent | null {
    const isNext = (stored: StoredEvent): boolean =>
      stored.sequence >= sequence && stored.event?.draft.deviceId === deviceId;
    return this.stored.slice(Math.max(0, sequence - 1)).find(isNext) ?? null;
  }
}

export interface CoreMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly reply?: string | undefined;
  /** Status of a request without a responder. */
  readonly headers?: { readonly code: number };
}

export interface Interest {
  readonly pattern: string;
  readonly send: (message: CoreMessage) => void;
}

const noResponders = 503;

export class NatsServer {
  readonly buckets: Readonly<Record<BucketName, MemoryBucket>>;
  readonly events: EventStreamServer;
  readonly #interests = new Set<Interest>();

  constructor(wallMs: () => number) {
    const made = bucketNames.map((name) => [name, new MemoryBucket(wallMs)] as const);
    this.buckets = Object.fromEntries(made) as Record<BucketName, MemoryBucket>;
    this.events = new EventStreamServer(wallMs);
  }

  subscribe(interest: Interest): () => void {
    this.#interests.add(interest);
    return () => this.#interests.delete(interest);
  }

  publish(message: CoreMessage): void {
    if (this.#deliver(message) > 0 || message.reply === undefined) return;
    this.#deliver({ subject: message.reply, data: new Uint8Array(), headers: { code: noResponders } });
  }

  #deliver(message: CoreMessage): number {
    const found = Array.from(this.#interests).filter(({ pattern }) => matches(pattern, message.subject));
    for (const { send } of found) send(message);
    return found.length;
  }
}

function matches(pattern: string, subject: string): boolean {
  if (!pattern.endsWith('.*')) return pattern === subject;
  const prefix = pattern.slice(0, -1);
  return subject.startsWith(prefix) && !subject.slice(prefix.length).includes('.');
}
