/** The log as the hooks of this thread read it: its latest events are decoded once, however many hooks look at them. */
import type { LoggedEvent } from '../../model/events.ts';
import type { LogPages } from '../../core/ports/webhook-sources.ts';
import { tailEventsMax } from './limits.ts';

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
    const from = this.#indexBehind(after);
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

  #indexBehind(after: number): number {
    let low = 0;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#events[middle]?.sequence ?? Infinity) > after) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
