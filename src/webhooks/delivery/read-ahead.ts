/**
 * How far a hook has read the log, and which of the events it read are not settled: neither delivered nor among the
 * failed. The cursor, which is all that is kept of this, stands before the first of those.
 */
import type { LoggedEvent } from '../../model/events.ts';
import type { Audience } from './audience.ts';
import type { WebhookLimits } from './limits.ts';
import type { LogTail } from './log-tail.ts';
import { ticketOf, type Ticket } from './first-attempts.ts';

export interface LogReader {
  /** An event that is wanted. */
  take(ticket: Ticket): void;
  /** So many events were forgotten by the log before they were looked at. */
  lost(events: number): void;
}

export class ReadAhead {
  readonly #tail: LogTail;
  readonly #limits: Pick<WebhookLimits, 'windowEventsMax' | 'scanEventsMax'>;
  /** By sequence, in the order of the log. */
  readonly #unsettled = new Map<number, Ticket>();
  /** Ahead of the cursor and settled before a restart: they are in the delivery store, and not taken a second time. */
  readonly #settledBefore: Set<number>;
  #readTo: number;

  constructor(
    cursor: number,
    settledBefore: Iterable<number>,
    tail: LogTail,
    limits: Pick<WebhookLimits, 'windowEventsMax' | 'scanEventsMax'>,
  ) {
    this.#readTo = cursor;
    this.#settledBefore = new Set(settledBefore);
    this.#tail = tail;
    this.#limits = limits;
  }

  get cursor(): number {
    for (const first of this.#unsettled.keys()) return first - 1;
    return this.#readTo;
  }

  /** Events that are not settled. */
  get size(): number {
    return this.#unsettled.size;
  }

  get room(): number {
    return this.#limits.windowEventsMax - this.#unsettled.size;
  }

  /** Events that were looked at behind the cursor: after a crash they are looked at again. */
  get span(): number {
    return this.#readTo - this.cursor;
  }

  get isAtHead(): boolean {
    return this.#readTo >= this.#tail.head;
  }

  /**
   * Looks at events until `room` of them were wanted, and at no more than one hook may in one turn of the loop. True:
   * it stopped for that. Throws when the store cannot be read.
   */
  read(room: number, audience: Audience, reader: LogReader): boolean {
    let wanted = 0;
    let unseen = this.#limits.scanEventsMax;
    while (wanted < room && unseen > 0 && !this.isAtHead) {
      const events = this.#tail.read(this.#readTo, Math.min(unseen, this.#limits.windowEventsMax));
      if (events[0]?.sequence !== this.#readTo + 1 && !this.#skip(events[0], reader)) return false;
      for (const event of events) {
        if (wanted === room) break;
        unseen -= 1;
        wanted += this.#look(event, audience, reader) ? 1 : 0;
      }
    }
    return wanted < room && !this.isAtHead;
  }

  /** Behind `from` there is nothing for it, up to the head. False: it has not read up to `from`, or has read on. */
  pass(from: number): boolean {
    if (this.#readTo !== from) return false;
    this.#readTo = this.#tail.head;
    return true;
  }

  /** Does nothing when it is not here. */
  settle(ticket: Ticket): void {
    this.#unsettled.delete(ticket.sequence);
  }

  tickets(): Ticket[] {
    return Array.from(this.#unsettled.values());
  }

  #look(event: LoggedEvent, audience: Audience, reader: LogReader): boolean {
    const isWanted = !this.#settledBefore.has(event.sequence) && audience.wants(event);
    this.#settledBefore.delete(event.sequence);
    this.#readTo = event.sequence;
    if (!isWanted) return false;
    const ticket = ticketOf(event, 0, false);
    this.#unsettled.set(ticket.sequence, ticket);
    reader.take(ticket);
    return true;
  }

  /**
   * Passes over what the log has forgotten, which is lost, and over a sequence that no event has: the shared log of
   * several nodes may have some. False when there is nothing to pass: this thread does not see the newest commit yet.
   */
  #skip(next: LoggedEvent | undefined, reader: LogReader): boolean {
    const lost = this.#tail.oldest - 1 - this.#readTo;
    if (lost > 0) {
      this.#readTo += lost;
      reader.lost(lost);
    } else if (next !== undefined) this.#readTo = next.sequence - 1;
    return lost > 0 || next !== undefined;
  }
}
