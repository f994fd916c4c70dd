/** The events of a hook that were never tried: those that may be now, and those that wait for an earlier one of their device. */
import { assert } from '../../lib/assert.ts';
import { BoundedQueue } from '../../lib/bounded-queue.ts';
import { DeviceOrder } from './device-order.ts';
import type { Ticket } from './ticket.ts';

export class FirstAttempts {
  readonly #order = new DeviceOrder();
  /** Those that have their lane. */
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
