/**
 * A webhooks' book that is also kept elsewhere, so that another node can go on: what changes goes there first. If it does
 * not get there, nothing is committed here, and it is handed over again. Source: events.md, Webhooks.
 */
import type { EventId } from '../../model/ids.ts';
import type {
  FailedEvent,
  HookChanges,
  HookRecord,
  ParkedEvent,
  WebhookBook,
} from '../../core/ports/webhook-book.ts';

export class SharedBook implements WebhookBook {
  readonly #book: WebhookBook;
  readonly #keep: (changes: readonly HookChanges[]) => Promise<void>;

  /** `keep`: nothing in it is only counted; what is trimmed is named. May be told the same again. */
  constructor(book: WebhookBook, keep: (changes: readonly HookChanges[]) => Promise<void>) {
    this.#book = book;
    this.#keep = keep;
  }

  hooks(): ReadonlyMap<string, HookRecord> {
    return this.#book.hooks();
  }

  freeNumber(): number {
    return this.#book.freeNumber();
  }

  failed(number: number): Iterable<FailedEvent> {
    return this.#book.failed(number);
  }

  findFailed(number: number, sequence: number): FailedEvent | null {
    return this.#book.findFailed(number, sequence);
  }

  parked(number: number, after: number, limit: number): readonly ParkedEvent[] {
    return this.#book.parked(number, after, limit);
  }

  findParked(number: number, eventId: EventId): Promise<ParkedEvent | null> {
    return this.#book.findParked(number, eventId);
  }

  async commit(changes: readonly HookChanges[]): Promise<void> {
    if (changes.length === 0) return;
    await this.#keep(changes.map((change) => this.#named(change)));
    await this.#book.commit(changes);
  }

  sweep(): Promise<void> {
    return this.#book.sweep();
  }

  #named(change: HookChanges): HookChanges {
    if (change.parkedTrimmed === 0) return change;
    const parked = new Map<number, ParkedEvent | null>();
    for (const { event } of this.#book.parked(change.number, 0, change.parkedTrimmed))
      parked.set(event.sequence, null);
    for (const [sequence, kept] of change.parked) parked.set(sequence, kept);
    return { ...change, parked, parkedTrimmed: 0 };
  }
}
