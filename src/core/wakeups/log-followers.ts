/**
 * Follows the shared log for devices and wakeups of other members: outcomes for callers that wait here, logins and resets for
 * wakeups watched here. Local events were applied in their own turn, and have no effect when they arrive again. Source: events.md,
 * Reading; cluster.md, Events.
 */
import type { Cancel } from '../../lib/clock.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { DeviceId, RequestId } from '../../model/ids.ts';
import type { LoggedTurn } from '../../model/wakeup.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { WakeupWatch } from './wakeup-watch.ts';

/** One log follower for all callers that await an outcome; their slots bound their number (waiting-readers.ts). */
export class OutcomeWaiters {
  readonly #log: EventLog;
  readonly #waiting = new Map<string, Set<() => void>>();
  #unfollow: Cancel | null = null;

  constructor(log: EventLog) {
    this.#log = log;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Calls `notify` at each outcome of a wakeup of the device with this id, until cancelled; wakeups of any caller count. */
  follow(deviceId: DeviceId, requestId: RequestId, notify: () => void): Cancel {
    this.#unfollow ??= this.#log.follow((events) => {
      for (const event of events) this.#notify(event);
    });
    const key = keyOf(deviceId, requestId);
    const waiting = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, waiting.add(notify));
    return () => {
      waiting.delete(notify);
      if (waiting.size === 0 && this.#waiting.get(key) === waiting) this.#waiting.delete(key);
      if (this.#waiting.size === 0) this.#unfollowLog();
    };
  }

  #unfollowLog(): void {
    this.#unfollow?.();
    this.#unfollow = null;
  }

  #notify(event: LoggedEvent): void {
    const { type, data, deviceId } = event;
    if (type === 'device.wakeup.accepted' || !('request_id' in data)) return;
    for (const notify of this.#waiting.get(keyOf(deviceId, data.request_id)) ?? []) notify();
  }
}

/** A request id is printable ASCII, so the first line feed ends it. */
function keyOf(deviceId: DeviceId, requestId: RequestId): string {
  return `${requestId}\n${deviceId}`;
}

export function followLoggedSessions(log: EventLog, watch: WakeupWatch): Cancel {
  return log.follow((events) => {
    if (watch.size > 0) for (const event of events) notifyWatch(watch, event);
  });
}

function notifyWatch(watch: WakeupWatch, event: LoggedEvent): void {
  const turn = loggedTurnOf(event);
  if (turn !== null) watch.applyLogged(event.deviceId, turn);
}

/** The event as a turn for a watched wakeup of its device; null: irrelevant. */
export function loggedTurnOf(event: LoggedEvent): LoggedTurn | null {
  const { atMs, epoch } = event;
  if (event.type === 'device.signal.online') return { kind: 'login', sessionId: event.data.session, atMs };
  const isReset = event.type === 'device.sleep.offline' && event.data.reason === 'reset';
  return isReset && epoch !== null ? { kind: 'reset', epoch, atMs } : null;
}
