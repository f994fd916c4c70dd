/** From what a connection's machine says has changed to what backends are told. Source: events.md, The log. */
import type { EventDraft } from '../events.ts';
import type { DeviceId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { SignalEndReason } from '../signal.ts';
import type { SleepEndReason } from '../sleep.ts';
import type { SessionChange } from './connection-session.ts';

export function sleepEvent(
  deviceId: DeviceId,
  node: string,
  change: SessionChange<SleepEndReason>,
): EventDraft {
  const { session, epoch, atMs } = change;
  if (change.kind === 'closed') {
    const { reason } = change;
    return { type: 'device.sleep.offline', data: { session, node, reason }, deviceId, atMs, epoch };
  }
  const { replaced } = change;
  return { type: 'device.sleep.login', data: { session, node, replaced }, deviceId, atMs, epoch };
}

/** `media`: what the device reported of itself at this login; null: nothing. */
export function signalEvent(
  deviceId: DeviceId,
  node: string,
  change: SessionChange<SignalEndReason>,
  media: JsonObject | null,
): EventDraft {
  const { session, epoch, atMs } = change;
  if (change.kind === 'closed') {
    const { reason } = change;
    return { type: 'device.signal.offline', data: { session, node, reason }, deviceId, atMs, epoch };
  }
  const { replaced } = change;
  const data = media === null ? { session, node, replaced } : { session, node, replaced, media };
  return { type: 'device.signal.online', data, deviceId, atMs, epoch };
}
