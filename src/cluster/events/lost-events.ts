/** What is told of a session that was claimed again, and of a lost member's that was ended. Source: cluster.md; events.md. */
import type { FailedOverSlot, ConnectionKind, MarkedEvent, SessionSlot } from '../../model/cluster.ts';
import type { EventDraft } from '../../model/events.ts';
import type { DeviceId, EventId } from '../../model/ids.ts';
import { duplicateSafeMs } from './log-limits.ts';

export interface MarkedDraft {
  readonly id: EventId;
  readonly draft: EventDraft;
}

type LoggedSlot = Pick<SessionSlot, 'session' | 'node' | 'epoch' | 'recovered'>;

interface Place {
  readonly deviceId: DeviceId;
  readonly connection: ConnectionKind;
}

/** That it was ended; before it, that it had come back, where that may not have been told. */
export function lostEvents(place: Place, { slot, id, atMs }: FailedOverSlot): MarkedDraft[] {
  const type = place.connection === 'sleep' ? 'device.sleep.offline' : 'device.signal.offline';
  const { session, node, epoch } = slot;
  const data = { session, node, reason: 'node_lost' } as const;
  const end: MarkedDraft = { id, draft: { type, data, deviceId: place.deviceId, atMs, epoch } };
  return [...untoldRecovery(place, slot, atMs), end];
}

/** None when it is so long ago that it was told: its member had more than a moment for it. */
export function untoldRecovery(place: Place, slot: LoggedSlot, nowMs: number): MarkedDraft[] {
  const { recovered } = slot;
  if (recovered === undefined || Math.abs(nowMs - recovered.atMs) >= duplicateSafeMs) return [];
  return [recoveredEvent(place, slot, recovered, false)];
}

export function recoveredEvent(
  { deviceId, connection }: Place,
  { session, node, epoch }: LoggedSlot,
  { id, atMs }: MarkedEvent,
  replaced: boolean,
): MarkedDraft {
  const type = connection === 'sleep' ? 'device.sleep.login' : 'device.signal.online';
  const data = { session, node, replaced, recovered: true } as const;
  return { id, draft: { type, data, deviceId, atMs, epoch } };
}
