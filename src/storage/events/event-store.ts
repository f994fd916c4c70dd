/**
 * The event log of the running server, as its readers see it: what is committed, the newest events from memory, older
 * ones from the store. Followers are notified right after every commit. Events that a node mirrors are read from the store
 * while anybody follows; while nobody does, only the head is kept. Source: events.md, The log; cluster.md.
 */
import type { LoggedEvent } from '../../model/events.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { EventLog } from '../../core/ports/event-log.ts';
import type { Log } from '../../lib/log.ts';
import type { Journal } from '../journal/journal.ts';
import { refreshLogSlice, recentEventsMax, recentEventCharacters } from '../lmdb/store-limits.ts';
import type { StoredEvents } from './stored-events.ts';

type Follower = (events: readonly LoggedEvent[]) => void;

export class EventStore implements EventLog {
  readonly #stored: StoredEvents;
  readonly #log: Log;
  readonly #recent = new RecentEvents();
  readonly #followers = new Set<{ readonly told: Follower }>();
  #head: number;
  #oldest: number;
  /** It reads on from the head. */
  #isReading = false;

  /** Throws when the store cannot be read. */
  constructor(stored: StoredEvents, journal: Journal, log: Log) {
    this.#stored = stored;
    this.#log = log;
    this.#head = stored.head;
    this.#oldest = stored.oldest;
    journal.onCommitted((events) => this.#committed(events));
  }

  get head(): number {
    return this.#head;
  }

  /** Moves when what was before it is gone. Ask after `read`, which may be the first to notice. */
  get oldest(): number {
    return this.#oldest;
  }

  read(after: number, limit: number): readonly LoggedEvent[] {
    const from = Math.max(after, this.#oldest - 1);
    if (from >= this.#head || limit <= 0) return [];
    const { first } = this.#recent;
    return first !== null && from >= first - 1
      ? this.#recent.read(from, limit)
      : this.#readStored(from, limit);
  }

  get isFollowed(): boolean {
    return this.#followers.size > 0;
  }

  recentOf(deviceId: DeviceId): readonly LoggedEvent[] {
    return this.#stored
      .recentSequences(deviceId, this.#head)
      .filter((sequence) => sequence >= this.#oldest)
      .flatMap((sequence) => this.#recent.find(sequence) ?? this.#stored.find(sequence) ?? []);
  }

  /** What `told` throws is logged and harms nobody else. */
  follow(told: Follower): () => void {
    const follower = { told };
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }

  /**
   * There are mirrored events behind the head. Where anybody follows, a slice is read and told now, what is more in the
   * next turns; else the head moves, and nothing is read.
   */
  refresh(): void {
    if (!this.#isReading) this.#readOn();
  }

  /** Everything up to `sequence` is gone from the store. */
  forgotten(sequence: number): void {
    this.#oldest = Math.max(this.#oldest, sequence + 1);
  }

  /** The store may have forgotten a slice a moment before it says so: no gap is passed over in silence. */
  #readStored(after: number, limit: number): LoggedEvent[] {
    const events = this.#stored.read(after, limit, this.#head);
    const first = events[0]?.sequence ?? after + 1;
    if (first > after + 1) this.forgotten(this.#stored.oldest - 1);
    return events;
  }

  /** Events that others have put before these are told before them; these may have been read already. */
  #committed(events: readonly LoggedEvent[]): void {
    const [first] = events;
    if (first === undefined || first.sequence <= this.#head) return;
    if (first.sequence === this.#head + 1 || !this.isFollowed) this.#take(events);
    else this.refresh();
  }

  #readOn(): void {
    this.#isReading = true;
    this.#isReading = this.#readSlice();
    if (this.#isReading) setImmediate(() => this.#readOn());
  }

  /** True: there may be more. */
  #readSlice(): boolean {
    try {
      this.#stored.refresh();
      if (!this.isFollowed) return this.#skip(this.#stored.head);
      const events = this.#stored.read(this.#head, refreshLogSlice);
      const [first] = events;
      if (first === undefined) return false;
      if (first.sequence > this.#head + 1) this.forgotten(this.#stored.oldest - 1);
      this.#take(events);
      return events.length === refreshLogSlice;
    } catch (error) {
      this.#log.error({ err: error }, 'the event log cannot be read; tried again in a moment');
      return false;
    }
  }

  #skip(head: number): false {
    if (head > this.#head) {
      this.#recent.drop();
      this.#head = head;
    }
    return false;
  }

  #take(events: readonly LoggedEvent[]): void {
    this.#recent.push(events);
    this.#head = events.at(-1)?.sequence ?? this.#head;
    for (const follower of Array.from(this.#followers))
      if (this.#followers.has(follower)) this.#notify(follower.told, events);
  }

  #notify(told: Follower, events: readonly LoggedEvent[]): void {
    try {
      told(events);
    } catch (error) {
      this.#log.error({ err: error }, 'who follows the event log failed');
    }
  }
}

/** Of the events in memory those that are gone; a copy without them is made when there are more. */
const goneShareMax = 1 / 8;

/**
 * The newest events, in memory, so that those who read at the head of the log never touch the store. Bounded by their number,
 * and by what devices may put into them: an event with capabilities counts for its length too.
 */
class RecentEvents {
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
      if (event.sequence !== last + 1) this.drop();
      last = event.sequence;
      this.#events.push(event);
      this.#weight += weightOf(event);
    }
    while (this.#weight > recentEventsMax) this.#weight -= this.#shift();
    if (this.#start <= this.#events.length * goneShareMax) return;
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

  drop(): void {
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
