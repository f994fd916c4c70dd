/**
 * Tells who waits for the outcome of a wakeup that another member has done, once the log has it. One follower for all of
 * them; how many wait is bounded by their seats (waiting-readers.ts). Source: events.md, Reading; cluster.md, Events.
 */
import type { Cancel } from '../../lib/clock.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { DeviceId, RequestId } from '../../model/ids.ts';
import type { EventLog } from '../ports/event-log.ts';

export class OutcomeWaiters {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Follows the log for good. */
  constructor(log: EventLog) {
    log.follow((events) => {
      if (this.#waiting.size > 0) for (const event of events) this.#told(event);
    });
  }

  /** How many outcomes are waited for. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Calls `told` at every outcome of the device's wakeup of this id, whoever asked for it, until it is cancelled. */
  follow(deviceId: DeviceId, requestId: RequestId, told: () => void): Cancel {
    const key = keyOf(deviceId, requestId);
    const waiting = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, waiting.add(told));
    return () => {
      waiting.delete(told);
      if (waiting.size === 0 && this.#waiting.get(key) === waiting) this.#waiting.delete(key);
    };
  }

  #told(event: LoggedEvent): void {
    const { type, data, deviceId } = event;
    if (type === 'device.wakeup.accepted' || !('request_id' in data)) return;
    for (const told of this.#waiting.get(keyOf(deviceId, data.request_id)) ?? []) told();
  }
}

/** A request id is printable ASCII, so the first line feed ends it. */
function keyOf(deviceId: DeviceId, requestId: RequestId): string {
  return `${requestId}\n${deviceId}`;
}
