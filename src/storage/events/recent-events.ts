/**
 * The newest events, in memory, so that those who read at the head of the log never touch the store. Bounded by
 * their number, and by what devices may put into them: an event with capabilities counts for its length too.
 */
import type { LoggedEvent } from '../../model/events.ts';
import { recentEventsMax, recentEventCharacters } from '../lmdb/store-limits.ts';

export class RecentEvents {
  /** Without a gap in their sequences; those before `#start` are gone. */
  #events: LoggedEvent[] = [];
  #start = 0;
  #weight = 0;

  /** The sequence of the oldest one here; null: none is. */
  get first(): number | null {
    return this.#events[this.#start]?.sequence ?? null;
  }

  /** Where an event does not go on where the last one ended, all before it are dropped. */
  push(events: readonly LoggedEvent[]): void {
    let last = this.#events.at(-1)?.sequence ?? 0;
    for (const event of events) {
      if (event.sequence !== last + 1) this.#drop();
      last = event.sequence;
      this.#events.push(event);
      this.#weight += weightOf(event);
    }
    while (this.#weight > recentEventsMax) this.#weight -= this.#shift();
    if (this.#start * 2 <= this.#events.length) return;
    this.#events = this.#events.slice(this.#start);
    this.#start = 0;
  }

  find(sequence: number): LoggedEvent | null {
    const first = this.first;
    if (first === null || sequence < first) return null;
    return this.#events[this.#start + sequence - first] ?? null;
  }

  /** At most `limit` events behind `after`, which is not before the oldest one here. */
  read(after: number, limit: number): LoggedEvent[] {
    const start = this.#start + after + 1 - (this.first ?? after + 1);
    return this.#events.slice(start, start + limit);
  }

  #drop(): void {
    this.#events = [];
    this.#start = 0;
    this.#weight = 0;
  }

  #shift(): number {
    const event = this.#events[this.#start];
    this.#start += 1;
    return event === undefined ? 0 : weightOf(event);
  }
}

/** 1, and 1 more for every so many characters of what the device reported of itself. */
function weightOf(event: LoggedEvent): number {
  if (event.type !== 'device.signal.online' || event.data.media === undefined) return 1;
  return 1 + Math.floor(JSON.stringify(event.data.media).length / recentEventCharacters);
}
