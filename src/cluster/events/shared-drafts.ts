/** Events as all members are to see them: with the epoch that all know a session by. Source: events.md, The log. */
import type { ConnectionKind } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { OutboxEvent } from '../../core/ports/outbox.ts';
import { ChangeRefused } from '../nats/keyed-queue.ts';

export interface SharedLogin {
  readonly epoch: number;
  /** Null: what was known here stands. */
  readonly replaced: boolean | null;
  readonly recovered: boolean;
}

export function sharedLogin(event: OutboxEvent, login: SharedLogin): OutboxEvent {
  const { draft } = event;
  if (draft.type !== 'device.sleep.login' && draft.type !== 'device.signal.online')
    throw new ChangeRefused(`a login goes with ${draft.type}`);
  const { epoch } = login;
  const replaced = login.replaced ?? draft.data.replaced;
  const told = login.recovered ? ({ replaced, recovered: true } as const) : { replaced };
  if (draft.type === 'device.sleep.login')
    return { ...event, draft: { ...draft, epoch, data: { ...draft.data, ...told } } };
  return { ...event, draft: { ...draft, epoch, data: { ...draft.data, ...told } } };
}

export function withEpoch(event: OutboxEvent, epoch: number): OutboxEvent {
  return { ...event, draft: { ...event.draft, epoch } };
}

/** The epoch that all know a session by, given the one it has here; the same where that is all there is. */
export type SharedEpochOf = (deviceId: DeviceId, connection: ConnectionKind, localEpoch: number) => number;

/** An event that changes no connection, and may speak of one. */
export function sharedEvent(event: OutboxEvent, sharedEpochOf: SharedEpochOf): OutboxEvent {
  const { deviceId, epoch, type } = event.draft;
  if (epoch === null) return event;
  // Wakeups speak of the sleep session that carried them.
  const connection = type.startsWith('device.signal.') ? 'signal' : 'sleep';
  return withEpoch(event, sharedEpochOf(deviceId, connection, epoch));
}
