/** One durable change as the journal carries it, with the event that reports it. */
import type { CallSession } from '../../model/call.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import type { ConnectionRecord } from '../../model/connectivity.ts';
import type { EventDraft } from '../../model/events.ts';
import type { DeviceId, ProductId } from '../../model/ids.ts';
import { sessionEvent, type SessionTransition } from '../../model/state/session-event.ts';
import type { KnownWakeup } from '../../model/wakeup.ts';

export interface ConnectionTransition {
  readonly kind: 'connection';
  readonly connection: ConnectionKind;
  readonly deviceId: DeviceId;
  readonly record: ConnectionRecord;
  /** The login or session end of this change; null: a saved heartbeat. */
  readonly session: SessionTransition | null;
}

export interface WakeupTransition extends KnownWakeup {
  readonly kind: 'wakeup';
  /** True: the wakeup has no record yet. */
  readonly isFirst: boolean;
  readonly event: EventDraft | null;
}

export interface CallsTransition {
  readonly kind: 'calls';
  readonly deviceId: DeviceId;
  readonly sessions: readonly CallSession[];
  readonly event: EventDraft | null;
}

/** The event of a registry change, which is committed in the registry's own file already. */
export interface RegistryTransition {
  readonly kind: 'registry';
  readonly place: number;
  /** Product of the device when it happened: the device may be removed by now. */
  readonly productId: ProductId;
  readonly event: EventDraft;
}

export interface EventTransition {
  readonly kind: 'events';
  readonly event: EventDraft;
}

export type Transition =
  ConnectionTransition | WakeupTransition | CallsTransition | RegistryTransition | EventTransition;

/** The event that backends receive; null: none. */
export function eventOf(transition: Transition): EventDraft | null {
  if (transition.kind !== 'connection') return transition.event;
  const { deviceId, session } = transition;
  return session === null ? null : sessionEvent(deviceId, session);
}

/** The device of the event, without building the event; null: no event. */
export function deviceOfEvent(transition: Transition): DeviceId | null {
  if (transition.kind !== 'connection') return transition.event?.deviceId ?? null;
  return transition.session === null ? null : transition.deviceId;
}
