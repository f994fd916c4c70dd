/**
 * Removes the oldest events by age and by number, in slices and as fast as new ones arrive. Each slice is a small batch, so
 * that a commit waits for at most one of them. Older events always go first, and a step of the wall clock does not empty the
 * log (forgetting-pace.ts). Source: events.md, Reading.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { LoggedEvent } from '../../model/events.ts';
import { eventIdMs, eventKey, forgottenKey, type EventTables } from './event-rows.ts';
import type { EventStore } from './event-store.ts';
import type { StateTables } from '../lmdb/state-tables.ts';
import { ForgettingPace } from '../lmdb/forgetting-pace.ts';
import { forgetEventsMs, forgetEventsSlice } from '../lmdb/store-limits.ts';
import { StoredEvents } from './stored-events.ts';

export interface EventRetentionSettings {
  readonly maxAgeMs: number;
  readonly maxCount: number;
}

export interface EventRetentionDeps extends EventRetentionSettings {
  readonly clock: Clock;
  readonly log: EventStore;
  readonly batch: (write: () => void) => Promise<void>;
}

interface SliceToForget {
  readonly newest: LoggedEvent;
  /** Number of events removed for their age, not for the maximum number. */
  readonly aged: number;
}

export class EventRetention {
  readonly #tables: EventTables;
  readonly #stored: StoredEvents;
  readonly #deps: EventRetentionDeps;
  readonly #pace: ForgettingPace;
  #isForgetting = false;

  constructor(state: StateTables, deps: EventRetentionDeps) {
    this.#tables = state.events;
    this.#stored = new StoredEvents(state);
    this.#deps = deps;
    this.#pace = new ForgettingPace(deps.clock, deps.maxAgeMs);
  }

  start(): Cancel {
    return this.#deps.clock.every(forgetEventsMs, () => void this.forget());
  }

  /** Resolves when no event may be removed now, or the store refused a slice: the next round retries. Never rejects. */
  async forget(): Promise<void> {
    if (this.#isForgetting) return;
    this.#isForgetting = true;
    try {
      while (await this.#forgetSlice());
    } catch {
      // The journal reports the fault: it writes to the same store.
    } finally {
      this.#isForgetting = false;
    }
  }

  async #forgetSlice(): Promise<boolean> {
    const slice = this.#sliceToForget();
    if (slice === null) return false;
    const { newest, aged } = slice;
    await this.#deps.batch(() => this.#remove(newest));
    this.#pace.forgot(aged);
    this.#deps.log.forgotten(newest.sequence);
    return true;
  }

  #sliceToForget(): SliceToForget | null {
    const { log, maxCount } = this.#deps;
    const count = log.head - log.oldest + 1;
    if (count > maxCount) {
      const newest = this.#newestOf(count - maxCount);
      return newest === null ? null : { newest, aged: 0 };
    }
    const allowed = this.#pace.allowed(count);
    if (!this.#isTooOld(this.#oldest())) {
      this.#pace.caughtUp();
      return null;
    }
    if (allowed === 0) return null;
    const slice = this.#stored.read(log.oldest - 1, Math.min(forgetEventsSlice, allowed), log.head);
    const firstKept = slice.findIndex((event) => !this.#isTooOld(event));
    const aged = firstKept === -1 ? slice.length : firstKept;
    const newest = slice[aged - 1];
    return newest === undefined ? null : { newest, aged };
  }

  /** Last event of the oldest slice of `excess` sequences; a mirrored log has sequences without events. */
  #newestOf(excess: number): LoggedEvent | null {
    const { oldest } = this.#deps.log;
    const last = oldest + Math.min(excess, forgetEventsSlice) - 1;
    const found = this.#stored.find(last) ?? this.#stored.read(oldest - 1, forgetEventsSlice, last).at(-1);
    if (found !== undefined) return found;
    const first = this.#oldest();
    return first !== null && first.sequence < oldest + excess ? first : null;
  }

  #oldest(): LoggedEvent | null {
    const { oldest, head } = this.#deps.log;
    return this.#stored.read(oldest - 1, 1, head)[0] ?? null;
  }

  #isTooOld(event: LoggedEvent | null): boolean {
    return event !== null && this.#deps.clock.wallMs() - event.atMs >= this.#deps.maxAgeMs;
  }

  #remove(newest: LoggedEvent): void {
    for (let sequence = this.#deps.log.oldest; sequence <= newest.sequence; sequence++)
      void this.#tables.events.remove(eventKey(sequence));
    void this.#tables.forgotten.put(forgottenKey, [newest.sequence, eventIdMs(newest.id)]);
  }
}
