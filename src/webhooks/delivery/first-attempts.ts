/**
 * The first attempts of one hook, in per-device order: the event whose turn it is goes out, and the later ones of its device
 * wait until it is delivered or has failed twice. Devices never wait for each other. Source: events.md, Webhooks.
 */
import { assert } from '../../lib/assert.ts';
import { BoundedQueue } from '../../lib/queues.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { LoggedEvent } from '../../model/events.ts';

export class FirstAttempts {
  readonly #order = new DeviceOrder();
  /** Those that have their device's turn. */
  readonly #ready: BoundedQueue<Ticket>;

  constructor(eventsMax: number) {
    this.#ready = new BoundedQueue(eventsMax);
  }

  get hasReady(): boolean {
    return this.#ready.length > 0;
  }

  add(ticket: Ticket): void {
    if (this.#order.enter(ticket)) this.#push(ticket);
  }

  /** One that has failed once, and so holds up the later ones of its device. */
  addFailedOnce(ticket: Ticket): void {
    this.#order.claim(ticket);
  }

  take(): Ticket | null {
    return this.#ready.shift() ?? null;
  }

  /** It no longer holds up anything. */
  release(ticket: Ticket): void {
    const next = this.#order.leave(ticket);
    if (next !== null) this.#push(next);
  }

  waitsBehindFailure(ticket: Ticket): boolean {
    return this.#order.waitsBehindFailure(ticket);
  }

  #push(ticket: Ticket): void {
    assert(this.#ready.push(ticket), 'what a hook holds is bounded where it is taken in');
  }
}

interface DeviceQueue {
  current: Ticket;
  /** In the order of the log. */
  readonly waiting: Ticket[];
}

class DeviceOrder {
  readonly #order = new Map<DeviceId, DeviceQueue>();

  /** True when its device's turn is its own; else a `leave` will hand it out. */
  enter(ticket: Ticket): boolean {
    if (this.claim(ticket)) return true;
    const queue = this.#order.get(ticket.deviceId);
    assert(queue !== undefined, 'a queue that cannot be claimed is there');
    insert(queue.waiting, ticket);
    return false;
  }

  /** True when its device's turn is its own; else it is not in the queue. */
  claim(ticket: Ticket): boolean {
    if (this.#order.has(ticket.deviceId)) return false;
    this.#order.set(ticket.deviceId, { current: ticket, waiting: [] });
    return true;
  }

  /** The ticket whose turn it is now; null also when `ticket` did not have it. */
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

export interface Ticket {
  /** The event's place in the log: what orders the events of a device, and names it within its hook. */
  readonly sequence: number;
  readonly deviceId: DeviceId;
  /** Null: only the delivery store has it, until it is tried. */
  event: LoggedEvent | null;
  /** It is among the failed in the delivery store; else it is read ahead. */
  isKept: boolean;
  /** Failed ones so far. */
  attempts: number;
  /** Monotonic milliseconds of the next attempt; only of one that failed. */
  dueMs: number;
  /** The attempt under way is the one that an open circuit waits for. */
  isProbe: boolean;
}

/** `isKept`: it comes from the delivery store, which has its event. */
export function ticketOf(event: LoggedEvent, attempts: number, isKept: boolean): Ticket {
  const { sequence, deviceId } = event;
  return { sequence, deviceId, event: isKept ? null : event, isKept, attempts, dueMs: 0, isProbe: false };
}
