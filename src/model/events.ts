/** Events that backends receive. Source: events.md, The log. */
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

/** `data` of each type as on the wire, names included. */
interface EventData {
  readonly 'device.signal.online': LoginData & { readonly media?: JsonObject };
  readonly 'device.sleep.login': LoginData;
  readonly 'device.signal.offline': SessionData & { readonly reason: SignalEndReason };
  readonly 'device.sleep.offline': SessionData & { readonly reason: SleepEndReason };
  /** `replacements`: since the last such event, or in the last minute. */
  readonly 'device.conflict': { readonly connection: ConnectionKind; readonly replacements: number };
  /** `custom_data` as requested; null: the fixed packet. */
  readonly 'device.wakeup.accepted': WakeupData & { readonly custom_data: string | null };
  readonly 'device.wakeup.failed': WakeupData & { readonly reason: SleepEndReason };
  readonly 'device.wakeup.completed': WakeupData & { readonly woke_after_ms: number };
  readonly 'device.wakeup.expired': WakeupData;
  readonly 'call.started': CallData;
  readonly 'call.state': CallData;
  /** Also published for a session that never became a call. */
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
  /** The session was declared lost, but is alive. */
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

/** `by`: the application that made the change; null: an operator. No event contains the new value of a term. */
interface RegistryData {
  readonly product_id: ProductId;
  readonly by: ApplicationId | null;
}

export type EventBody<Type extends EventType = EventType> = {
  [One in Type]: { readonly type: One; readonly data: EventData[One] };
}[Type];

export type RegistryEventBody = EventBody<Extract<EventType, `device.registry.${string}`>>;

/** Terms that can change while the device stays with its product. */
export const deviceTerms = ['secret', 'expires_at', 'disabled', 'labels'] as const;
export type DeviceTerm = (typeof deviceTerms)[number];

/** An event that has no position in the log yet. */
export type EventDraft = EventBody & {
  readonly deviceId: DeviceId;
  readonly atMs: number;
  /** Epoch of the event's connection; null for calls and registry changes. */
  readonly epoch: number | null;
};

export type LoggedEvent = EventDraft & {
  readonly id: EventId;
  /** Position in the log, over all devices, from 1; cursors count it. */
  readonly sequence: number;
  /** Position among the device's events, from 1. */
  readonly seq: number;
  /** The device's product when the event happened, which decides the applications that receive it; null: it had none. */
  readonly productId: ProductId | null;
};

/** Start after this sequence, at the oldest event kept, or after the newest. */
export type EventsStart = number | 'oldest' | 'latest';

export interface EventPage {
  /** In the order of the log. */
  readonly events: readonly LoggedEvent[];
  /** Sequence of the last event examined, of any application. */
  readonly next: number;
  /** True: events behind the cursor have been deleted, or the cursor lies beyond the log. */
  readonly truncated: boolean;
}
