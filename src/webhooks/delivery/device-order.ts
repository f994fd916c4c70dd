/**
 * The order of a device's events at one hook. The event whose turn it is has the lane until it is delivered or has
 * failed twice; the later ones of its device wait. Devices never wait for each other.
 * Source: events.md, Webhooks: per-device order holds for first attempts.
 */
import { assert } from '../../lib/assert.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { Ticket } from './ticket.ts';

interface DeviceQueue {
  current: Ticket;
  /** In the order of the log. */
  readonly waiting: Ticket[];
}

export class DeviceOrder {
  readonly #order = new Map<DeviceId, DeviceQueue>();

  /** True when it has the lane; else a `leave` will hand it out. */
  enter(ticket: Ticket): boolean {
    if (this.claim(ticket)) return true;
    const queue = this.#order.get(ticket.deviceId);
    assert(queue !== undefined, 'a lane that cannot be claimed is there');
    insert(queue.waiting, ticket);
    return false;
  }

  /** True when it has the lane; else it is none of the lane's. */
  claim(ticket: Ticket): boolean {
    if (this.#order.has(ticket.deviceId)) return false;
    this.#order.set(ticket.deviceId, { current: ticket, waiting: [] });
    return true;
  }

  /** Who has the lane now; null also when `ticket` did not have it. */
  leave(ticket: Ticket): Ticket | null {
    const queue = this.#order.get(ticket.deviceId);
    if (queue?.current !== ticket) return null;
    const next = queue.waiting.shift();
    if (next === undefined) this.#order.delete(ticket.deviceId);
    else queue.current = next;
    return next ?? null;
  }

  /** It waits for an event that has failed once: for seconds, and not for an answer that is under way. */
  waitsBehindFailure(ticket: Ticket): boolean {
    const current = this.#order.get(ticket.deviceId)?.current;
    return current !== undefined && current !== ticket && current.attempts > 0;
  }
}

/** Nearly always at the end; what was replayed comes from the past. */
function insert(waiting: Ticket[], ticket: Ticket): void {
  let at = waiting.length;
  while (at > 0 && (waiting[at - 1]?.sequence ?? 0) > ticket.sequence) at -= 1;
  waiting.splice(at, 0, ticket);
}
