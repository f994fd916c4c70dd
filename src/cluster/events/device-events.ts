/** The events of one device in the stream that all nodes share, by its subject. Source: cluster.md, Events. */
import type { JetStreamManager, StoredMsg } from '@nats-io/jetstream';
import type { DeviceId } from '../../model/ids.ts';
import {
  decodeSharedEvent,
  encodeSharedEvent,
  type SharedLogEvent,
} from '../../protocol/cluster/stored-values.ts';
import { SharedStateUnavailable } from '../../core/ports/session-locator.ts';
import { bucketAnswerMsMax } from './log-limits.ts';
import { isConflict } from '../nats/nats-kv-store.ts';
import type { NatsLink } from '../nats/nats-link.ts';

export interface StoredEvent {
  /** Of the stream. */
  readonly sequence: number;
  /** Wall milliseconds of NATS. */
  readonly storedAtMs: number;
  /** Null: what is there is no event. */
  readonly event: SharedLogEvent | null;
}

/** `duplicate`: the stream has an event of this id, from the time of its duplicate window; `conflict`: another came first. */
export type EventPut =
  { readonly kind: 'stored'; readonly sequence: number } | { readonly kind: 'duplicate' | 'conflict' };

/** Each rejects while NATS is away. */
export interface DeviceEvents {
  last(deviceId: DeviceId): Promise<StoredEvent | null>;
  /** The first one at or behind `sequence`. */
  next(deviceId: DeviceId, sequence: number): Promise<StoredEvent | null>;
  /** Behind the device's event at the sequence `last`; 0: it has none in the stream. */
  put(event: SharedLogEvent, last: number): Promise<EventPut>;
}

export class StreamedDeviceEvents implements DeviceEvents {
  readonly #link: NatsLink;
  #manager: Promise<JetStreamManager> | null = null;

  constructor(link: NatsLink) {
    this.#link = link;
  }

  async last(deviceId: DeviceId): Promise<StoredEvent | null> {
    const manager = await this.#reach();
    const { names } = this.#link;
    return stored(
      await manager.streams.getMessage(names.eventStream, { last_by_subj: names.event(deviceId) }),
      deviceId,
    );
  }

  async next(deviceId: DeviceId, sequence: number): Promise<StoredEvent | null> {
    const manager = await this.#reach();
    const { names } = this.#link;
    const query = { seq: sequence, next_by_subj: names.event(deviceId) };
    return stored(await manager.streams.getMessage(names.eventStream, query), deviceId);
  }

  async put(event: SharedLogEvent, last: number): Promise<EventPut> {
    if (this.#link.isUnavailable) throw new SharedStateUnavailable('NATS is away');
    const { names } = this.#link;
    try {
      const { seq: sequence, duplicate } = await this.#link
        .jetstream()
        .publish(names.event(event.draft.deviceId), encodeSharedEvent(event), {
          msgID: event.id,
          expect: { streamName: names.eventStream, lastSubjectSequence: last },
          timeout: bucketAnswerMsMax,
        });
      return duplicate ? { kind: 'duplicate' } : { kind: 'stored', sequence };
    } catch (error) {
      if (isConflict(error)) return { kind: 'conflict' };
      throw error;
    }
  }

  async #reach(): Promise<JetStreamManager> {
    if (this.#link.isUnavailable) throw new SharedStateUnavailable('NATS is away');
    this.#manager ??= this.#link.jetstream().jetstreamManager(false);
    return this.#manager;
  }
}

function stored(message: StoredMsg | null, deviceId: DeviceId): StoredEvent | null {
  if (message === null) return null;
  const decoded = decodeSharedEvent(message.data);
  const event = decoded.ok && decoded.value.draft.deviceId === deviceId ? decoded.value : null;
  return { sequence: message.seq, storedAtMs: message.time.getTime(), event };
}
