/**
 * Events of one hook that failed: by the time of their next attempt, then by their position in the log, and put back from
 * the delivery store when a process begins. Source: events.md, Webhooks.
 */
import type { LoggedEvent } from '../../model/events.ts';
import type { DeliveryFailure, FailedEvent } from '../../core/ports/delivery-store.ts';
import type { BufferedHook, WriteBuffer } from './write-buffer.ts';
import { type Ticket, type FirstAttempts, ticketOf } from './first-attempts.ts';
import type { HookDeps } from './hook-deps.ts';

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

export class DueQueue {
  readonly #heap: Ticket[] = [];

  /** Of the earliest; null when there is none. */
  get nextDueMs(): number | null {
    return this.#heap[0]?.dueMs ?? null;
  }

  push(ticket: Ticket): void {
    const heap = this.#heap;
    let at = heap.push(ticket) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || !isBefore(ticket, parent)) break;
      heap[at] = parent;
      at = above;
    }
    heap[at] = ticket;
  }

  /** The earliest, when it is due. */
  take(nowMs: number): Ticket | null {
    const first = this.#heap[0];
    if (first === undefined || first.dueMs > nowMs) return null;
    const last = this.#heap.pop();
    if (last !== undefined && last !== first) this.#sink(last);
    return first;
  }

  /** Puts `ticket` where the first was. */
  #sink(ticket: Ticket): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      const below = this.#earlierBelow(at);
      const child = heap[below];
      if (child === undefined || !isBefore(child, ticket)) break;
      heap[at] = child;
      at = below;
    }
    heap[at] = ticket;
  }

  #earlierBelow(at: number): number {
    const left = this.#heap[2 * at + 1];
    const right = this.#heap[2 * at + 2];
    return left !== undefined && right !== undefined && isBefore(right, left) ? 2 * at + 2 : 2 * at + 1;
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
  { clock, schedule }: Pick<HookDeps, 'clock' | 'schedule'>,
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
