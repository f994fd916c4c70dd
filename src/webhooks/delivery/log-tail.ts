/**
 * The log as the hooks of this thread read it: its latest events are decoded once, however many hooks look at them; which
 * of them a hook wants, and how far it has read. The cursor, which is all that is kept of this, stands before the first
 * event that is not settled: neither delivered nor among the failed.
 */
import type { LoggedEvent } from '../../model/events.ts';
import type { LogPages, WebhookRegistry } from '../../core/ports/webhook-sender.ts';
import { tailEventsMax, concernedEventsMax, type WebhookLimits } from './limits.ts';
import type { ApplicationId } from '../../model/ids.ts';
import { isOfApplication, type Webhook } from '../../model/registry.ts';
import { ticketOf, type Ticket } from './hook-queues.ts';

export class LogTail {
  readonly #pages: LogPages;
  #head = 0;
  /** Every event behind `#after`, up to the last one here. */
  #events: LoggedEvent[] = [];
  #after = 0;

  constructor(pages: LogPages) {
    this.#pages = pages;
  }

  /** The sequence of the newest event that may be read. */
  get head(): number {
    return this.#head;
  }

  /** It never goes back. */
  advance(head: number): void {
    this.#head = Math.max(this.#head, head);
  }

  /** The sequence of the oldest event that is kept. Throws when the store cannot be read. */
  get oldest(): number {
    return this.#pages.oldest;
  }

  /** Events behind `after`, at most `limit`. Throws when the store cannot be read. */
  read(after: number, limit: number): readonly LoggedEvent[] {
    if (after >= this.#head) return [];
    if (after < this.#after) return this.#pages.read(after, limit, this.#head);
    const last = this.#events.at(-1)?.sequence ?? this.#after;
    if (after > last) this.#begin(after);
    if (after >= last) this.#extend(after);
    // Hooks keep up with the log, as a rule: their place is near the end.
    const from = 1 + this.#events.findLastIndex(({ sequence }) => sequence <= after);
    return from === 0 && this.#events.length <= limit ? this.#events : this.#events.slice(from, from + limit);
  }

  #begin(after: number): void {
    this.#events = [];
    this.#after = after;
  }

  /** Half is dropped at a time, so that the array is not moved for every event. */
  #extend(after: number): void {
    const events = this.#events.concat(this.#pages.read(after, tailEventsMax / 2, this.#head));
    const dropped = events.length > tailEventsMax ? events.splice(0, events.length - tailEventsMax / 2) : [];
    this.#after = dropped.at(-1)?.sequence ?? this.#after;
    this.#events = events;
  }
}

export class Audience {
  readonly #registry: Pick<WebhookRegistry, 'findProduct'>;
  readonly #appId: ApplicationId;
  /** Null: all of them. */
  readonly #types: ReadonlySet<string> | null;

  constructor({ appId, types }: Webhook, registry: Pick<WebhookRegistry, 'findProduct'>) {
    this.#registry = registry;
    this.#appId = appId;
    this.#types = types.includes('*') ? null : new Set(types);
  }

  /** By the products as they are now. Throws when the registry cannot be read. */
  wants({ type, productId }: LoggedEvent): boolean {
    if (productId === null || (this.#types !== null && !this.#types.has(type))) return false;
    return isOfApplication(this.#registry.findProduct(productId), this.#appId);
  }
}

/** Applications of the events behind `after`; null: there are too many events to say, or they cannot be read. */
export function findConcerned(
  tail: LogTail,
  after: number,
  registry: Pick<WebhookRegistry, 'findProduct'>,
): ReadonlySet<ApplicationId> | null {
  if (tail.head - after > concernedEventsMax) return null;
  try {
    const events = tail.read(after, concernedEventsMax);
    if (events.at(-1)?.sequence !== tail.head) return null;
    const concerned = new Set<ApplicationId>();
    for (const { productId } of events)
      for (const appId of (productId === null ? null : registry.findProduct(productId))?.appIds ?? [])
        concerned.add(appId);
    return concerned;
  } catch {
    return null;
  }
}

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
