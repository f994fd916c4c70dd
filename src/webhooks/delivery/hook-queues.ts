/**
 * The queues of one hook: first attempts in per-device order, where the later events of a device wait until the one before
 * is delivered or has failed twice, and failed events by the time of their next attempt, then by their position in the log.
 * Devices never wait for each other. Source: events.md, Webhooks.
 */
import { assert } from '../../lib/assert.ts';
import { BoundedQueue } from '../../lib/queues.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { DeliveryFailure, FailedEvent } from '../../core/ports/delivery-store.ts';
import type { BufferedHook, WriteBuffer } from './write-buffer.ts';
import type { Clock } from '../../lib/clock.ts';
import type { RetrySchedule } from './limits.ts';

interface DeviceQueue {
  /** The ticket whose turn it is. */
  current: Ticket;
  /** In the order of the log. */
  readonly waiting: Ticket[];
}

export class FirstAttempts {
  readonly #devices = new Map<DeviceId, DeviceQueue>();
  /** Those that have their device's turn. */
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

  /** One that has failed once, and so holds up the later ones of its device; not where its device's turn is another's. */
  addFailedOnce(ticket: Ticket): void {
    if (!this.#devices.has(ticket.deviceId))
      this.#devices.set(ticket.deviceId, { current: ticket, waiting: [] });
  }

  take(): Ticket | null {
    return this.#ready.shift() ?? null;
  }

  /** It no longer holds up anything. */
  release(ticket: Ticket): void {
    const queue = this.#devices.get(ticket.deviceId);
    if (queue?.current !== ticket) return;
    const next = queue.waiting.shift();
    if (next === undefined) return void this.#devices.delete(ticket.deviceId);
    queue.current = next;
    this.#push(next);
  }

  /** It waits for an event that has failed once: for seconds, and not for an answer that is under way. */
  waitsBehindFailure(ticket: Ticket): boolean {
    const current = this.#devices.get(ticket.deviceId)?.current;
    return current !== undefined && current !== ticket && current.attempts > 0;
  }

  #push(ticket: Ticket): void {
    assert(this.#ready.push(ticket), 'what a hook holds is bounded where it is taken in');
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

/** Those that failed, put back from the delivery store when a process begins. */
export class KeptEvents {
  /** Those that have failed and wait for their time. */
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

  /** Failed, or waiting behind one that failed. */
  get failed(): number {
    return this.#failed;
  }

  get parked(): number {
    return this.#parked;
  }

  /** It was in the delivery store before this process began. */
  restore(ticket: Ticket): void {
    this.#failed += 1;
    if (ticket.attempts > 0) this.due.push(ticket);
  }

  /** Puts it among the failed, or changes what is kept of it there. `dueAtMs`: wall milliseconds. */
  keep(ticket: Ticket, event: LoggedEvent, dueAtMs: number): void {
    if (!ticket.isKept) this.#failed += 1;
    ticket.isKept = true;
    ticket.event = null;
    this.#writeBuffer.setFailed(this.#hook, ticket.sequence, { event, attempts: ticket.attempts, dueAtMs });
    if (ticket.attempts > 0) this.due.push(ticket);
  }

  /** It is not among the failed any more. */
  remove(ticket: Ticket): void {
    if (!ticket.isKept) return;
    this.#failed -= 1;
    ticket.isKept = false;
    this.#writeBuffer.setFailed(this.#hook, ticket.sequence, null);
  }

  /** False when the oldest of the parked had to go for it. */
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

/** Sorted: there are thousands at most, and most of those that come are due last of all. */
class DueQueue {
  /** The earliest last. */
  readonly #tickets: Ticket[] = [];

  /** Of the earliest; null when there is none. */
  get nextDueMs(): number | null {
    return this.#tickets.at(-1)?.dueMs ?? null;
  }

  push(ticket: Ticket): void {
    const place = this.#tickets.findIndex((other) => isBefore(other, ticket));
    this.#tickets.splice(place === -1 ? this.#tickets.length : place, 0, ticket);
  }

  /** The earliest, when it is due. */
  take(nowMs: number): Ticket | null {
    const dueMs = this.nextDueMs;
    return dueMs === null || dueMs > nowMs ? null : (this.#tickets.pop() ?? null);
  }
}

function isBefore(one: Ticket, other: Ticket): boolean {
  return one.dueMs === other.dueMs ? one.sequence < other.sequence : one.dueMs < other.dueMs;
}

/** What the delivery store has of a hook beside its record. */
export interface KeptBefore {
  readonly failed: readonly FailedEvent[];
  /** Sequences of the parked events behind its cursor. */
  readonly parkedAhead: readonly number[];
}

export const nothingKept: KeptBefore = { failed: [], parkedAhead: [] };

/** Those that failed once come before those that were never tried: they hold up the later ones of their device. */
export function restoreFailed(
  failed: readonly FailedEvent[],
  kept: KeptEvents,
  first: FirstAttempts,
  { clock, schedule }: { readonly clock: Clock; readonly schedule: RetrySchedule },
): void {
  const byAttempts = failed.toSorted((one, other) => other.attempts - one.attempts);
  for (const { event, attempts, dueAtMs } of byAttempts) {
    const ticket = ticketOf(event, attempts, true);
    // The wall clock may have stepped meanwhile.
    const leftMs = Math.min(Math.max(0, dueAtMs - clock.wallMs()), schedule.delayMsMax(attempts));
    ticket.dueMs = clock.monotonicMs() + leftMs;
    kept.restore(ticket);
    if (attempts === 1) first.addFailedOnce(ticket);
    if (attempts === 0) first.add(ticket);
  }
}
