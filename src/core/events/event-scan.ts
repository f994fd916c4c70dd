/**
 * One reader's walk through the log, in steps: from where it starts to as many of its events as it asked for, to the
 * head, or to as many as one request may look at. Says where it is, so that nothing is missed or told twice.
 * Source: events.md, Reading.
 */
import type { EventPage, EventsStart } from '../../model/event-page.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { ApplicationId, ProductId } from '../../model/ids.ts';
import { eventsScannedMax } from '../../model/limits.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';

export interface ScanDeps {
  readonly events: EventLog;
  readonly registry: RegistryReader;
}

export interface ScanRequest {
  readonly appId: ApplicationId;
  readonly start: EventsStart;
  /** Events of the application's, at most. */
  readonly limit: number;
}

/** A step looks at this many, though few are wanted: mostly the next ones are another's. */
const lookedAtLeast = 64;

export class EventScan {
  readonly #deps: ScanDeps;
  readonly #appId: ApplicationId;
  readonly #limit: number;
  readonly #found: LoggedEvent[] = [];
  #next: number;
  #truncated = false;
  #lookedAt = 0;
  #abandoned = false;

  constructor(deps: ScanDeps, { appId, start, limit }: ScanRequest) {
    const { head, oldest } = deps.events;
    this.#deps = deps;
    this.#appId = appId;
    this.#limit = limit;
    this.#next = start === 'oldest' ? oldest - 1 : start === 'latest' ? head : start;
  }

  /** The sequence of the last event that was looked at, or need not be. */
  get next(): number {
    return this.#next;
  }

  /** It starts behind what this log has. */
  get isAhead(): boolean {
    return this.#next > this.#deps.events.head;
  }

  /** What it starts behind is not to come: the log has lost its end. */
  turnBack(): void {
    if (!this.isAhead) return;
    this.#next = this.#deps.events.head;
    this.#truncated = true;
  }

  /** Nothing more to look at for now. */
  get isFinished(): boolean {
    return this.#isOver || this.#found.length >= this.#limit || this.#next >= this.#deps.events.head;
  }

  /** When finished: there is something to tell, and waiting would only delay it. */
  get hasNews(): boolean {
    return this.#isOver || this.#found.length > 0 || this.#truncated;
  }

  get page(): EventPage {
    return { events: this.#found, next: this.#next, truncated: this.#truncated };
  }

  /** Up to here there is nothing of the application's. */
  skipTo(sequence: number): void {
    this.#next = Math.max(this.#next, sequence);
  }

  /** Nobody wants the answer any more. */
  abandon(): void {
    this.#abandoned = true;
  }

  /** Looks at the next events, at most `eventsMax`, and says at how many. Throws when log or registry cannot be read. */
  step(eventsMax: number): number {
    const { events } = this.#deps;
    const { head, oldest } = events;
    if (this.#next < oldest - 1) {
      this.#next = oldest - 1;
      this.#truncated = true;
    }
    const wanted = Math.max(this.#limit - this.#found.length, lookedAtLeast);
    const count = Math.min(eventsMax, wanted, eventsScannedMax - this.#lookedAt);
    const slice = events.read(this.#next, count);
    this.#lookAt(slice);
    this.#lookedAt += slice.length;
    if (slice.length < count && this.#found.length < this.#limit) this.skipTo(head);
    return slice.length;
  }

  get #isOver(): boolean {
    return this.#abandoned || this.#lookedAt >= eventsScannedMax;
  }

  #lookAt(slice: readonly LoggedEvent[]): void {
    const mine = new Map<ProductId, boolean>();
    for (const event of slice) {
      this.#next = event.sequence;
      if (!this.#isMine(event, mine)) continue;
      this.#found.push(event);
      if (this.#found.length >= this.#limit) return;
    }
  }

  /** Asked of the registry once a step for each product: it may change while a reader waits. */
  #isMine({ productId }: LoggedEvent, known: Map<ProductId, boolean>): boolean {
    if (productId === null) return false;
    const already = known.get(productId);
    if (already !== undefined) return already;
    const mine = this.#deps.registry.findProduct(productId)?.appIds.includes(this.#appId) === true;
    known.set(productId, mine);
    return mine;
  }
}
