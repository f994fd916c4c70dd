/**
 * The event log of the running server, as its readers see it: what is committed, the newest events from memory, older
 * ones from the store. Who follows it is told right after every commit. Source: events.md, The log.
 */
import type { EventDraft, LoggedEvent } from '../domain/events.ts';
import type { DeviceId } from '../domain/ids.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Log } from '../ports/log.ts';
import type { Journal } from './journal.ts';
import { RecentEvents } from './recent-events.ts';
import type { StoredEvents } from './stored-events.ts';

type Follower = (events: readonly LoggedEvent[]) => void;

export class EventStore implements EventLog {
  readonly #stored: StoredEvents;
  readonly #journal: Journal;
  readonly #log: Log;
  readonly #recent = new RecentEvents();
  readonly #followers = new Set<{ readonly told: Follower }>();
  #head: number;
  #oldest: number;

  /** Throws when the store cannot be read. */
  constructor(stored: StoredEvents, journal: Journal, log: Log) {
    this.#stored = stored;
    this.#journal = journal;
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

  /** Puts an event into the log that no record goes with. */
  append(event: EventDraft): void {
    this.#journal.append(event);
  }

  /** Everything up to `sequence` is gone from the store. */
  forgotten(sequence: number): void {
    this.#oldest = Math.max(this.#oldest, sequence + 1);
  }

  /** The store may have forgotten a slice a moment before it says so: no gap is passed over in silence. */
  #readStored(after: number, limit: number): LoggedEvent[] {
    const events = this.#stored.read(after, limit, this.#head);
    const first = events[0]?.sequence ?? after + 1;
    if (first > after + 1) this.forgotten(first - 1);
    return events;
  }

  #committed(events: readonly LoggedEvent[]): void {
    this.#recent.push(events);
    this.#head = events.at(-1)?.sequence ?? this.#head;
    for (const follower of Array.from(this.#followers))
      if (this.#followers.has(follower)) this.#tell(follower.told, events);
  }

  #tell(told: Follower, events: readonly LoggedEvent[]): void {
    try {
      told(events);
    } catch (error) {
      this.#log.error({ err: error }, 'who follows the event log failed');
    }
  }
}
