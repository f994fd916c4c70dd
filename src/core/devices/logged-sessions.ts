/**
 * What happens to devices at other members, for the wakeups that are watched here: read off the log that all share. What
 * happened here is told in its own turn, and comes by once more without changing anything. Source: cluster.md, Events.
 */
import type { Cancel } from '../../lib/clock.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { WakeupWatch } from '../wakeups/wakeup-watch.ts';

export function followLoggedSessions(log: EventLog, watch: WakeupWatch): Cancel {
  return log.follow((events) => {
    if (watch.size > 0) for (const event of events) notify(watch, event);
  });
}

/** What the log has of a device, the oldest first: for wakeups that nobody watched for a while. */
export function recallLoggedSessions(log: EventLog, watch: WakeupWatch, deviceId: DeviceId): void {
  for (const event of log.recentOf(deviceId).toReversed()) notify(watch, event);
}

function notify(watch: WakeupWatch, event: LoggedEvent): void {
  const { deviceId, atMs, epoch } = event;
  if (event.type === 'device.signal.online')
    watch.toldOf(deviceId, { kind: 'login', sessionId: event.data.session, atMs });
  else if (event.type === 'device.sleep.offline' && event.data.reason === 'reset' && epoch !== null)
    watch.toldOf(deviceId, { kind: 'reset', epoch, atMs });
}
