/** The events of one hook that are in the book: the failed, until they are delivered or parked, and the parked. */
import type { LoggedEvent } from '../../model/events.ts';
import type { DeliveryFailure } from '../../core/ports/delivery-store.ts';
import { DueQueue } from './due-queue.ts';
import type { BufferedHook, WriteBuffer } from './write-buffer.ts';
import type { Ticket } from './ticket.ts';

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

  /** It was in the book before this process began. */
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
