/** One change of what this server must not forget, as the journal carries it, and the event it is told as. */
import type { CallSession } from '../../model/call.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import type { ConnectionRecord } from '../../model/connectivity.ts';
import type { EventDraft } from '../../model/events.ts';
import type { ApplicationId, DeviceId, RequestId } from '../../model/ids.ts';
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
  readonly event: EventDraft | null;
}

/** All live sessions that are left of a device. */
export interface CallsTransition {
  readonly kind: 'calls';
  readonly deviceId: DeviceId;
  readonly sessions: readonly CallSession[];
  readonly event: EventDraft | null;
}

/** An event that no record goes with. */
export interface EventTransition {
  readonly kind: 'event';
  readonly event: EventDraft | null;
}

export type Transition = ConnectionTransition | WakeupTransition | CallsTransition | EventTransition;

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
