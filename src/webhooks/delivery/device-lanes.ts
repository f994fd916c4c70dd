/**
 * The order of a device's events at one hook. The event whose turn it is has the lane until it is delivered or has
 * failed twice; the later ones of its device wait. Devices never wait for each other.
 * Source: events.md, Webhooks: per-device order holds for first attempts.
 */
import { assert } from '../../lib/assert.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { Ticket } from './ticket.ts';

interface Lane {
  current: Ticket;
  /** In the order of the log. */
  readonly waiting: Ticket[];
}

export class DeviceLanes {
  readonly #lanes = new Map<DeviceId, Lane>();

  /** True when it has the lane; else a `leave` will hand it out. */
  enter(ticket: Ticket): boolean {
    if (this.claim(ticket)) return true;
    const lane = this.#lanes.get(ticket.deviceId);
    assert(lane !== undefined, 'a lane that cannot be claimed is there');
    insert(lane.waiting, ticket);
    return false;
  }

  /** True when it has the lane; else it is none of the lane's. */
  claim(ticket: Ticket): boolean {
    if (this.#lanes.has(ticket.deviceId)) return false;
    this.#lanes.set(ticket.deviceId, { current: ticket, waiting: [] });
    return true;
  }

  /** Who has the lane now; null also when `ticket` did not have it. */
  leave(ticket: Ticket): Ticket | null {
    const lane = this.#lanes.get(ticket.deviceId);
    if (lane?.current !== ticket) return null;
    const next = lane.waiting.shift();
    if (next === undefined) this.#lanes.delete(ticket.deviceId);
    else lane.current = next;
    return next ?? null;
  }

  /** It waits for an event that has failed once: for seconds, and not for an answer that is under way. */
  waitsBehindFailure(ticket: Ticket): boolean {
    const current = this.#lanes.get(ticket.deviceId)?.current;
    return current !== undefined && current !== ticket && current.attempts > 0;
  }
}

/** Nearly always at the end; what was replayed comes from the past. */
function insert(waiting: Ticket[], ticket: Ticket): void {
  let at = waiting.length;
  while (at > 0 && (waiting[at - 1]?.sequence ?? 0) > ticket.sequence) at -= 1;
  waiting.splice(at, 0, ticket);
}
