/** The events of one device in the stream that all nodes share, by its subject. Source: cluster.md, Events. */
import type { MsgRequest } from '@nats-io/jetstream';
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

export type DeviceEvents = Pick<StreamedDeviceEvents, 'last' | 'next' | 'put'>;

/** Each method rejects while NATS is unavailable. */
export class StreamedDeviceEvents {
  readonly #link: NatsLink;

  constructor(link: NatsLink) {
    this.#link = link;
  }

  last(deviceId: DeviceId): Promise<StoredEvent | null> {
    return this.#get(deviceId, { last_by_subj: this.#link.names.event(deviceId) });
  }

  /** The first event at or after `sequence`. */
  next(deviceId: DeviceId, sequence: number): Promise<StoredEvent | null> {
    const query = { seq: sequence, next_by_subj: this.#link.names.event(deviceId) };
    return this.#get(deviceId, query);
  }

  /** Appends after the device's event at the sequence `last`; 0: the device has none in the stream. */
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

  async #get(deviceId: DeviceId, query: MsgRequest): Promise<StoredEvent | null> {
    if (this.#link.isUnavailable) throw new SharedStateUnavailable('NATS is away');
    const streams = await this.#link.streams();
    const message = await streams.getMessage(this.#link.names.eventStream, query);
    if (message === null) return null;
    const decoded = decodeSharedEvent(message.data);
    const event = decoded.ok && decoded.value.draft.deviceId === deviceId ? decoded.value : null;
    return { sequence: message.seq, storedAtMs: message.time.getTime(), event };
  }
}
