/** One change of what this server must not forget, as the journal carries it, and the event it is told as. */
import type { CallSession } from '../../model/call.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import type { ConnectionRecord } from '../../model/connectivity.ts';
import type { EventDraft } from '../../model/events.ts';
import type { ApplicationId, DeviceId, ProductId, RequestId } from '../../model/ids.ts';
import { sessionEvent, type SessionTransition } from '../../model/state/session-event.ts';
import type { WakeupRecord } from '../../model/wakeup.ts';

/** What becomes of a connection's record. */
export interface ConnectionTransition {
  readonly kind: 'connection';
  readonly connection: ConnectionKind;
  readonly deviceId: DeviceId;
  readonly record: ConnectionRecord;
  /** The login or the end that it goes with; null: a heartbeat is saved. */
  readonly session: SessionTransition | null;
}

export interface WakeupTransition {
  readonly kind: 'wakeup';
  readonly appId: ApplicationId;
  readonly requestId: RequestId;
  readonly record: WakeupRecord;
  /** Nothing is kept of this wakeup yet. */
  readonly isFirst: boolean;
  readonly event: EventDraft | null;
}

/** All live sessions that are left of a device. */
export interface CallsTransition {
  readonly kind: 'calls';
  readonly deviceId: DeviceId;
  readonly sessions: readonly CallSession[];
  readonly event: EventDraft | null;
}

/** A change of the registry is told; it was committed there. */
export interface RegistryTransition {
  readonly kind: 'registry';
  /** Of its notice. */
  readonly place: number;
  /** The device's when it happened: it may be in the registry no more. */
  readonly productId: ProductId;
  readonly event: EventDraft;
}

/** An event that changes no record. */
export interface EventTransition {
  readonly kind: 'events';
  readonly event: EventDraft;
}

export type Transition =
  ConnectionTransition | WakeupTransition | CallsTransition | RegistryTransition | EventTransition;

/** What backends are told of it; null: nothing. */
export function eventOf(transition: Transition): EventDraft | null {
  if (transition.kind !== 'connection') return transition.event;
  const { deviceId, session } = transition;
  return session === null ? null : sessionEvent(deviceId, session);
}

/** The device of that event, without making it; null: there is none. */
export function deviceOfEvent(transition: Transition): DeviceId | null {
  if (transition.kind !== 'connection') return transition.event?.deviceId ?? null;
  return transition.session === null ? null : transition.deviceId;
}
