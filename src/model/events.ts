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

/** `data` of each type, as it stands in the event: names and values are those of the wire. */
interface EventData {
  readonly 'device.signal.online': LoginData & { readonly media?: JsonObject };
  readonly 'device.sleep.login': LoginData;
  readonly 'device.signal.offline': SessionData & { readonly reason: SignalEndReason };
  readonly 'device.sleep.offline': SessionData & { readonly reason: SleepEndReason };
  /** `replacements`: since the last such event, or in the last minute. */
  readonly 'device.conflict': { readonly connection: ConnectionKind; readonly replacements: number };
  /** `custom_data` as it was asked for; null: the fixed packet. */
  readonly 'device.wakeup.accepted': WakeupData & { readonly custom_data: string | null };
  readonly 'device.wakeup.failed': WakeupData & { readonly reason: SleepEndReason };
  readonly 'device.wakeup.completed': WakeupData & { readonly woke_after_ms: number };
  readonly 'device.wakeup.expired': WakeupData;
  /** The session became a call. */
  readonly 'call.started': CallData;
  readonly 'call.state': CallData;
  /** Also of a session that never became a call. */
  readonly 'call.ended': CallData;
  readonly 'device.registry.added': RegistryData;
  readonly 'device.registry.changed': RegistryData & { readonly changed: readonly DeviceTerm[] };
  readonly 'device.registry.removed': RegistryData;
}

interface SessionData {
  readonly session: SessionId;
  readonly node: string;
}

interface LoginData extends SessionData {
  readonly replaced: boolean;
  /** Others had to call the session lost, and it lives. */
  readonly recovered?: true;
}

interface WakeupData {
  readonly request_id: RequestId;
}

interface CallData {
  readonly session: SessionId;
  readonly state: CallState;
  readonly reason: CallEndReason | null;
}

/** `by`: the application that changed it; null: an operator. The new value of a term is in no event. */
interface RegistryData {
  readonly product_id: ProductId;
  readonly by: ApplicationId | null;
}

/** A type and its `data`. */
export type EventBody<Type extends EventType = EventType> = {
  [One in Type]: { readonly type: One; readonly data: EventData[One] };
}[Type];

export type RegistryEventBody = EventBody<Extract<EventType, `device.registry.${string}`>>;

/** Terms of a device that can be changed while it stays the same product's. */
export const deviceTerms = ['secret', 'expires_at', 'disabled', 'labels'] as const;
export type DeviceTerm = (typeof deviceTerms)[number];

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
