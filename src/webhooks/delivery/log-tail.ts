/**
 * Reading of the log: a shared tail that decodes each recent event once for all hooks, the filter of a hook, and its read
 * position. Only the cursor is stored; it stays before the first event that is neither delivered nor stored as failed.
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
  /** All events after `#after`, up to the last one read. */
  #events: LoggedEvent[] = [];
  #after = 0;

  constructor(pages: LogPages) {
    this.#pages = pages;
  }

  get head(): number {
    return this.#head;
  }

  /** Never moves backward. */
  advance(head: number): void {
    this.#head = Math.max(this.#head, head);
  }

  /** Sequence of the oldest stored event. Throws when the store cannot be read. */
  get oldest(): number {
    return this.#pages.oldest;
  }

  /** Returns at most `limit` events after `after`. Throws when the store cannot be read. */
  read(after: number, limit: number): readonly LoggedEvent[] {
    if (after >= this.#head) return [];
    if (after < this.#after) return this.#pages.read(after, limit, this.#head);
    const last = this.#events.at(-1)?.sequence ?? this.#after;
    if (after > last) this.#begin(after);
    if (after >= last) this.#extend(after);
    // Hooks usually keep up, so search from the end.
    const from = 1 + this.#events.findLastIndex(({ sequence }) => sequence <= after);
    return from === 0 && this.#events.length <= limit ? this.#events : this.#events.slice(from, from + limit);
  }

  #begin(after: number): void {
    this.#events = [];
    this.#after = after;
  }

  /** Drops half of the array at a time, rather than moving it for every event. */
  #extend(after: number): void {
    this.#events.push(...this.#pages.read(after, tailEventsMax / 2, this.#head));
    if (this.#events.length <= tailEventsMax) return;
    const dropped = this.#events.splice(0, this.#events.length - tailEventsMax / 2);
    this.#after = dropped.at(-1)?.sequence ?? this.#after;
  }
}

export class EventFilter {
  readonly #registry: Pick<WebhookRegistry, 'findProduct'>;
  readonly #appId: ApplicationId;
  /** Null: all types. */
  readonly #types: ReadonlySet<string> | null;

  constructor({ appId, types }: Webhook, registry: Pick<WebhookRegistry, 'findProduct'>) {
    this.#registry = registry;
    this.#appId = appId;
    this.#types = types.includes('*') ? null : new Set(types);
  }

  /** Uses the current products. Throws when the registry cannot be read. */
  wants({ type, productId }: LoggedEvent): boolean {
    if (productId === null || (this.#types !== null && !this.#types.has(type))) return false;
    return isOfApplication(this.#registry.findProduct(productId), this.#appId);
  }
}

/** Returns the applications of the events after `after`; null: too many events, or unreadable. */
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
  wanted(ticket: Ticket): void;
  /** The log dropped this many events before they were read. */
  lost(events: number): void;
}

export class ReadAhead {
  readonly #tail: LogTail;
  readonly #limits: Pick<WebhookLimits, 'windowEventsMax' | 'scanEventsMax'>;
  readonly #unfinished = new Map<number, Ticket>();
  /** Sequences after the cursor that are in the delivery store since before a restart; skipped. */
  readonly #completedBefore: Set<number>;
  #readTo: number;

  constructor(
    cursor: number,
    completedBefore: Iterable<number>,
    tail: LogTail,
    limits: Pick<WebhookLimits, 'windowEventsMax' | 'scanEventsMax'>,
  ) {
    this.#readTo = cursor;
    this.#completedBefore = new Set(completedBefore);
    this.#tail = tail;
    this.#limits = limits;
  }

  get cursor(): number {
    for (const first of this.#unfinished.keys()) return first - 1;
    return this.#readTo;
  }

  /** Events read but neither delivered nor stored as failed. */
  get size(): number {
    return this.#unfinished.size;
  }

  get room(): number {
    return this.#limits.windowEventsMax - this.#unfinished.size;
  }

  /** Number of events read after the cursor, which a crash would make the hook read again. */
  get span(): number {
    return this.#readTo - this.cursor;
  }

  get isAtHead(): boolean {
    return this.#readTo >= this.#tail.head;
  }

  /**
   * Reads until `room` events passed the filter, and at most `scanEventsMax` in one turn of the event loop. True: stopped at
   * that limit. Throws when the store cannot be read.
   */
  read(room: number, filter: EventFilter, reader: LogReader): boolean {
    let wanted = 0;
    let unseen = this.#limits.scanEventsMax;
    while (wanted < room && unseen > 0 && !this.isAtHead) {
      const events = this.#tail.read(this.#readTo, Math.min(unseen, this.#limits.windowEventsMax));
      if (events[0]?.sequence !== this.#readTo + 1 && !this.#skip(events[0], reader)) return false;
      for (const event of events) {
        if (wanted === room) break;
        unseen -= 1;
        wanted += this.#readEvent(event, filter, reader) ? 1 : 0;
      }
    }
    return wanted < room && !this.isAtHead;
  }

  /** Moves from `from` to the head without reading. False: the position is not `from`. */
  pass(from: number): boolean {
    if (this.#readTo !== from) return false;
    this.#readTo = this.#tail.head;
    return true;
  }

  remove(ticket: Ticket): void {
    this.#unfinished.delete(ticket.sequence);
  }

  tickets(): Ticket[] {
    return Array.from(this.#unfinished.values());
  }

  #readEvent(event: LoggedEvent, filter: EventFilter, reader: LogReader): boolean {
    const isWanted = !this.#completedBefore.has(event.sequence) && filter.wants(event);
    this.#completedBefore.delete(event.sequence);
    this.#readTo = event.sequence;
    if (!isWanted) return false;
    const ticket = ticketOf(event, 0, false);
    this.#unfinished.set(ticket.sequence, ticket);
    reader.wanted(ticket);
    return true;
  }

  /**
   * Skips dropped events, which are lost, and sequences without an event, which the shared log of a cluster may have. False:
   * nothing to skip, because this thread does not see the newest commit yet.
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
