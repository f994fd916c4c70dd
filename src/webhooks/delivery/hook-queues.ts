/**
 * The queues of one hook. First attempts are in order per device: an event waits until the one before is delivered or has
 * failed twice. Failed events are ordered by the time of their next attempt, then by sequence. Devices never wait for each
 * other. Source: events.md, Webhooks.
 */
import { assert } from '../../lib/assert.ts';
import { BoundedQueue } from '../../lib/collections/queues.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { DeliveryFailure, FailedEvent } from '../../core/ports/delivery-store.ts';
import type { BufferedHook, WriteBuffer } from './write-buffer.ts';
import type { Clock } from '../../lib/clock.ts';
import type { RetrySchedule } from './limits.ts';

interface DeviceQueue {
  current: Ticket;
  /** By sequence. */
  readonly waiting: Ticket[];
}

export class FirstAttempts {
  readonly #devices = new Map<DeviceId, DeviceQueue>();
  readonly #ready: BoundedQueue<Ticket>;

  constructor(eventsMax: number) {
    this.#ready = new BoundedQueue(eventsMax);
  }

  get hasReady(): boolean {
    return this.#ready.length > 0;
  }

  add(ticket: Ticket): void {
    const queue = this.#devices.get(ticket.deviceId);
    if (queue !== undefined) return insert(queue.waiting, ticket);
    this.addFailedOnce(ticket);
    this.#push(ticket);
  }

  /** Adds an event that has failed once, which blocks the later ones of its device, unless another one already does. */
  addFailedOnce(ticket: Ticket): void {
    if (!this.#devices.has(ticket.deviceId))
      this.#devices.set(ticket.deviceId, { current: ticket, waiting: [] });
  }

  shift(): Ticket | null {
    return this.#ready.shift() ?? null;
  }

  /** Unblocks the next event of the device. */
  release(ticket: Ticket): void {
    const queue = this.#devices.get(ticket.deviceId);
    if (queue?.current !== ticket) return;
    const next = queue.waiting.shift();
    if (next === undefined) return void this.#devices.delete(ticket.deviceId);
    queue.current = next;
    this.#push(next);
  }

  /** True: the event ahead of it has failed once, so that the wait takes seconds. */
  waitsBehindFailure(ticket: Ticket): boolean {
    const current = this.#devices.get(ticket.deviceId)?.current;
    return current !== undefined && current !== ticket && current.attempts > 0;
  }

  #push(ticket: Ticket): void {
    assert(this.#ready.push(ticket), 'the window of a hook bounds its queue');
  }
}

/** Inserts by sequence: nearly always at the end; replayed events are older. */
function insert(waiting: Ticket[], ticket: Ticket): void {
  let at = waiting.length;
  while (at > 0 && (waiting[at - 1]?.sequence ?? 0) > ticket.sequence) at -= 1;
  waiting.splice(at, 0, ticket);
}

export interface Ticket {
  /** Sequence in the log; orders the events of a device, and identifies the event within its hook. */
  readonly sequence: number;
  readonly deviceId: DeviceId;
  /** Null: still in the delivery store; loaded for the attempt. */
  event: LoggedEvent | null;
  /** True: stored among the failed; false: read ahead. */
  isKept: boolean;
  attempts: number;
  /** Monotonic milliseconds of the next attempt; only after a failed one. */
  dueMs: number;
  /** The pending attempt is the probe of an open circuit. */
  isProbe: boolean;
}

/** `isKept`: the delivery store has the event. */
export function ticketOf(event: LoggedEvent, attempts: number, isKept: boolean): Ticket {
  const { sequence, deviceId } = event;
  return { sequence, deviceId, event: isKept ? null : event, isKept, attempts, dueMs: 0, isProbe: false };
}

/** The failed and parked events of a hook, as stored in the delivery store. */
export class KeptEvents {
  /** Failed events that wait for their next attempt. */
  readonly due = new DueQueue();
  readonly #hook: BufferedHook;
  readonly #writeBuffer: WriteBuffer;
  readonly #parkedMax: number;
  #failed = 0;
  #parked: number;

  constructor(hook: BufferedHook, writeBuffer: WriteBuffer, parked: number, parkedMax: number) {
    this.#hook = hook;
    this.#writeBuffer = writeBuffer;
    this.#parked = parked;
    this.#parkedMax = parkedMax;
  }

  /** Number of events that failed or wait behind one that failed. */
  get failed(): number {
    return this.#failed;
  }

  get parked(): number {
    return this.#parked;
  }

  restore(ticket: Ticket): void {
    this.#failed += 1;
    if (ticket.attempts > 0) this.due.push(ticket);
  }

  /** Adds or updates a failed event. `dueAtMs`: wall milliseconds. */
  keep(ticket: Ticket, event: LoggedEvent, dueAtMs: number): void {
    if (!ticket.isKept) this.#failed += 1;
    ticket.isKept = true;
    ticket.event = null;
    this.#writeBuffer.setFailed(this.#hook, ticket.sequence, { event, attempts: ticket.attempts, dueAtMs });
    if (ticket.attempts > 0) this.due.push(ticket);
  }

  remove(ticket: Ticket): void {
    if (!ticket.isKept) return;
    this.#failed -= 1;
    ticket.isKept = false;
    this.#writeBuffer.setFailed(this.#hook, ticket.sequence, null);
  }

  /** False: the limit is reached, and the oldest parked event was dropped. */
  park(event: LoggedEvent, failure: DeliveryFailure): boolean {
    this.#writeBuffer.setParked(this.#hook, event.sequence, { event, failure });
    this.#parked += 1;
    if (this.#parked <= this.#parkedMax) return true;
    this.#parked -= 1;
    this.#writeBuffer.trimParked(this.#hook);
    return false;
  }

  unpark(event: LoggedEvent): void {
    this.#parked -= 1;
    this.#writeBuffer.setParked(this.#hook, event.sequence, null);
  }
}

/** A sorted array: thousands of tickets at most, and most of the new ones are due last. */
class DueQueue {
  /** In descending order of time. */
  readonly #tickets: Ticket[] = [];

  get nextDueMs(): number | null {
    return this.#tickets.at(-1)?.dueMs ?? null;
  }

  push(ticket: Ticket): void {
    const place = this.#tickets.findIndex((other) => isBefore(other, ticket));
    this.#tickets.splice(place === -1 ? this.#tickets.length : place, 0, ticket);
  }

  shift(nowMs: number): Ticket | null {
    const dueMs = this.nextDueMs;
    return dueMs === null || dueMs > nowMs ? null : (this.#tickets.pop() ?? null);
  }
}

function isBefore(one: Ticket, other: Ticket): boolean {
  return one.dueMs === other.dueMs ? one.sequence < other.sequence : one.dueMs < other.dueMs;
}

export interface KeptBefore {
  readonly failed: readonly FailedEvent[];
  /** Sequences of parked events after the cursor. */
  readonly parkedAhead: readonly number[];
}

export const nothingKept: KeptBefore = { failed: [], parkedAhead: [] };

/** Adds events that failed once before unattempted ones, because they block the later events of their device. */
export function restoreFailed(
  failed: readonly FailedEvent[],
  kept: KeptEvents,
  first: FirstAttempts,
  { clock, schedule }: { readonly clock: Clock; readonly schedule: RetrySchedule },
): void {
  const byAttempts = failed.toSorted((one, other) => other.attempts - one.attempts);
  for (const { event, attempts, dueAtMs } of byAttempts) {
    const ticket = ticketOf(event, attempts, true);
    // The wall clock may have been set meanwhile.
    const leftMs = Math.min(Math.max(0, dueAtMs - clock.wallMs()), schedule.delayMsMax(attempts));
    ticket.dueMs = clock.monotonicMs() + leftMs;
    kept.restore(ticket);
    if (attempts === 1) first.addFailedOnce(ticket);
    if (attempts === 0) first.add(ticket);
  }
}
