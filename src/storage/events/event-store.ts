/**
 * The committed event log for readers in this process: the newest events from memory, older ones from the store. Followers are
 * notified right after each commit. A node's mirrored events are read from the store only while there are followers; otherwise
 * only the head moves. Source: events.md, The log; cluster.md.
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
  readonly #followers = new Set<{ readonly listener: Follower }>();
  #head: number;
  #oldest: number;
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

  /** Moves as events are removed. Read it after `read`, which may be the first to notice a removal. */
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

  /** Errors of `listener` are logged and do not affect other followers. */
  follow(listener: Follower): () => void {
    const follower = { listener };
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }

  /**
   * Call when mirrored events were appended. With followers, it reads and publishes a slice now and the rest in the next turns;
   * without, only the head moves.
   */
  refresh(): void {
    if (!this.#isReading) this.#readOn();
  }

  /** Events up to `sequence` were removed from the store. */
  forgotten(sequence: number): void {
    this.#oldest = Math.max(this.#oldest, sequence + 1);
  }

  /** The store may remove a slice shortly before it reports so: a gap moves `oldest`. */
  #readStored(after: number, limit: number): LoggedEvent[] {
    const events = this.#stored.read(after, limit, this.#head);
    const first = events[0]?.sequence ?? after + 1;
    if (first > after + 1) this.forgotten(this.#stored.oldest - 1);
    return events;
  }

  /** Mirrored events before these are published first; these may have been read already. */
  #committed(events: readonly LoggedEvent[]): void {
    const [first] = events;
    if (first === undefined || first.sequence <= this.#head) return;
    if (first.sequence === this.#head + 1 || !this.isFollowed) this.#append(events);
    else this.refresh();
  }

  #readOn(): void {
    this.#isReading = true;
    this.#isReading = this.#readSlice();
    if (this.#isReading) setImmediate(() => this.#readOn());
  }

  #readSlice(): boolean {
    try {
      this.#stored.refresh();
      if (!this.isFollowed) return this.#skip(this.#stored.head);
      const events = this.#stored.read(this.#head, refreshLogSlice);
      const [first] = events;
      if (first === undefined) return false;
      if (first.sequence > this.#head + 1) this.forgotten(this.#stored.oldest - 1);
      this.#append(events);
      return events.length === refreshLogSlice;
    } catch (error) {
      this.#log.error(
        { err: error },
        'event log: read failed; followers receive these events with the next ones',
      );
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

  #append(events: readonly LoggedEvent[]): void {
    this.#recent.push(events);
    this.#head = events.at(-1)?.sequence ?? this.#head;
    for (const follower of Array.from(this.#followers))
      if (this.#followers.has(follower)) this.#notify(follower.listener, events);
  }

  #notify(listener: Follower, events: readonly LoggedEvent[]): void {
    try {
      listener(events);
    } catch (error) {
      this.#log.error({ err: error }, 'event log: a follower failed');
    }
  }
}

/** Share of removed events in the array above which it is copied. */
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

  get first(): number | null {
    return this.#events[this.#start]?.sequence ?? null;
  }

  /** A gap in the sequences drops all events before it. */
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

  /** At most `limit` events after `after`, which is not before the oldest one in memory. */
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

/** 1, plus 1 for each `recentEventCharacters` of the reported capabilities. */
function weightOf(event: LoggedEvent): number {
  if (event.type !== 'device.signal.online' || event.data.media === undefined) return 1;
  return 1 + Math.floor(JSON.stringify(event.data.media).length / recentEventCharacters);
}
