/** The events that backends are told. Source: events.md, The log. */
import type { CallEndReason, CallState } from './call.ts';
import type { ConnectionKind } from './cluster.ts';
import type { ApplicationId, DeviceId, EventId, ProductId, RequestId, SessionId } from './ids.ts';
import type { JsonObject } from './json.ts';
import type { SignalEndReason } from './signal.ts';
import type { SleepEndReason } from './sleep.ts';

export const eventTypes = [
  'device.signal.online',
  'device.signal.offline',
  'device.sleep.login',
  'device.sleep.offline',
  'device.conflict',
  'device.wakeup.accepted',
  'device.wakeup.failed',
  'device.wakeup.completed',
  'device.wakeup.expired',
  'call.started',
  'call.state',
  'call.ended',
  'device.registry.added',
  'device.registry.changed',
  'device.registry.removed',
] as const;
export type EventType = (typeof eventTypes)[number];

/** `data` stands in the event as it is here: names and values are those of the wire. */
export type EventBody =
  | {
      readonly type: 'device.signal.online';
      readonly data: {
        readonly session: SessionId;
        readonly node: string;
        readonly replaced: boolean;
        /** Others had to call the session lost, and it lives. */
        readonly recovered?: true;
        readonly media?: JsonObject;
      };
    }
  | {
      readonly type: 'device.sleep.login';
      readonly data: {
        readonly session: SessionId;
        readonly node: string;
        readonly replaced: boolean;
        readonly recovered?: true;
      };
    }
  | {
      readonly type: 'device.signal.offline';
      readonly data: { readonly session: SessionId; readonly node: string; readonly reason: SignalEndReason };
    }
  | {
      readonly type: 'device.sleep.offline';
      readonly data: { readonly session: SessionId; readonly node: string; readonly reason: SleepEndReason };
    }
  | {
      readonly type: 'device.conflict';
      /** `replacements`: since the last such event, or in the last minute. */
      readonly data: { readonly connection: ConnectionKind; readonly replacements: number };
    }
  | {
      readonly type: 'device.wakeup.accepted';
      /** `custom_data` as it was asked for; null: the fixed packet. */
      readonly data: { readonly request_id: RequestId; readonly custom_data: string | null };
    }
  | {
      readonly type: 'device.wakeup.failed';
      readonly data: { readonly request_id: RequestId; readonly reason: SleepEndReason };
    }
  | {
      readonly type: 'device.wakeup.completed';
      readonly data: { readonly request_id: RequestId; readonly woke_after_ms: number };
    }
  | { readonly type: 'device.wakeup.expired'; readonly data: { readonly request_id: RequestId } }
  | {
      /** `started`: the session became a call; `ended` also of one that never did. */
      readonly type: 'call.started' | 'call.state' | 'call.ended';
      readonly data: {
        readonly session: SessionId;
        readonly state: CallState;
        readonly reason: CallEndReason | null;
      };
    }
  | RegistryEventBody;

/** Terms of a device that can be changed while it stays the same product's. */
export const deviceTerms = ['secret', 'expires_at', 'disabled', 'labels'] as const;
export type DeviceTerm = (typeof deviceTerms)[number];

/** `by`: the application that changed it; null: an operator. What a term is now is not told. */
export type RegistryEventBody =
  | {
      readonly type: 'device.registry.added' | 'device.registry.removed';
      readonly data: { readonly product_id: ProductId; readonly by: ApplicationId | null };
    }
  | {
      readonly type: 'device.registry.changed';
      readonly data: {
        readonly product_id: ProductId;
        readonly by: ApplicationId | null;
        readonly changed: readonly DeviceTerm[];
      };
    };

/** An event that has happened and has no place in the log yet. */
export type EventDraft = EventBody & {
  readonly deviceId: DeviceId;
  /** Wall milliseconds. */
  readonly atMs: number;
  /** Of the connection it speaks of; null for calls and changes of the registry. */
  readonly epoch: number | null;
};

/** An event with its place in the log. */
export type LoggedEvent = EventDraft & {
  readonly id: EventId;
  /** The log's own, over all devices, from 1: what cursors count. */
  readonly sequence: number;
  /** The device's own, over all its events, from 1, +1 each. */
  readonly seq: number;
  /** The device's product when it happened, which says whose event it is; null: it had none. */
  readonly productId: ProductId | null;
};

/** Behind this sequence, at the oldest event that is kept, or behind the newest. */
export type EventsStart = number | 'oldest' | 'latest';

export interface EventPage {
  /** In the order of the log. */
  readonly events: readonly LoggedEvent[];
  /** The sequence of the last event that was looked at, whosever it was. */
  readonly next: number;
  /** True: events behind the cursor are no longer kept, or the log does not reach to it. */
  readonly truncated: boolean;
}
