/**
 * Reads the committed event log, without the journal's entries: for the server's own reader, and for another thread or process
 * that opens the directory. Every call throws when the store cannot be read.
 */
import type { LoggedEvent } from '../../model/events.ts';
import type { DeviceId, EventId } from '../../model/ids.ts';
import { decodeEvent, eventIdMs, eventKey, forgottenKey, sequenceOf } from './event-rows.ts';
import type { StateTables } from '../lmdb/state-tables.ts';

/** The newest sequence ever assigned, and the milliseconds in its id. Zeros: none yet. */
export interface NewestEvent {
  readonly sequence: number;
  readonly idMs: number;
}

const fewEventsMax = 4;

export class StoredEvents {
  readonly #state: StateTables;

  constructor(state: StateTables) {
    this.#state = state;
  }

  /** Sequence of the newest event; 0: none yet. */
  get head(): number {
    return this.#edge(true) ?? this.#forgotten().sequence;
  }

  /** Sequence of the oldest event; `head + 1`: none. */
  get oldest(): number {
    return this.#edge(false) ?? this.#forgotten().sequence + 1;
  }

  /** `guess`: expected sequence, in a log without gaps; checking it costs a tenth of a search for the end. */
  newest(guess = 0): NewestEvent {
    const sequence = this.#has(guess) && !this.#has(guess + 1) ? guess : this.#edge(true);
    const row = sequence === null ? undefined : this.#state.events.events.get(eventKey(sequence));
    if (sequence === null || row === undefined) return this.#forgotten();
    return { sequence, idMs: eventIdMs(row[0] as EventId) };
  }

  find(sequence: number): LoggedEvent | null {
    const row = this.#state.events.events.get(eventKey(sequence));
    return row === undefined ? null : decodeEvent(sequence, row);
  }

  /** At most `limit` events after `after` up to `upTo`, in order of sequence. About 2 µs each. */
  read(after: number, limit: number, upTo = Number.MAX_SAFE_INTEGER): LoggedEvent[] {
    if (limit <= 0 || upTo <= after) return [];
    if (upTo - after <= fewEventsMax) return this.#readEach(after, limit, upTo);
    const range = { start: eventKey(after + 1), end: eventKey(upTo + 1), limit };
    const events: LoggedEvent[] = [];
    for (const { key, value } of this.#state.events.events.getRange(range))
      events.push(decodeEvent(sequenceOf(key), value));
    if (events.length < limit) this.#checkEnd(events.at(-1)?.sequence ?? after, upTo);
    return events;
  }

  /** Sequences of the device's latest events up to `upTo`, newest first; some events may have been removed. */
  recentSequences(deviceId: DeviceId, upTo = Number.MAX_SAFE_INTEGER): number[] {
    const row = this.#state.events.seqs.get(Buffer.from(deviceId));
    if (row === undefined) return [];
    return row
      .slice(1)
      .filter((sequence) => sequence <= upTo)
      .reverse();
  }

  /** The device's latest events, newest first, at most `recentEventsOfDeviceMax`. */
  recentOf(deviceId: DeviceId): LoggedEvent[] {
    return this.recentSequences(deviceId).flatMap((sequence) => this.find(sequence) ?? []);
  }

  /** Makes commits of other threads visible to reads of this turn. */
  refresh(): void {
    this.#state.environment.refresh();
  }

  /** For followers that read one or two events at a time: opening a cursor costs as much as several look-ups. */
  #readEach(after: number, limit: number, upTo: number): LoggedEvent[] {
    const events: LoggedEvent[] = [];
    for (let sequence = after + 1; sequence <= upTo && events.length < limit; sequence += 1) {
      const event = this.find(sequence);
      if (event !== null) events.push(event);
    }
    return events;
  }

  /** Detects a walk that LMDB ended silently at a damaged page: the log has no gaps, and readers would wait forever. */
  #checkEnd(last: number, upTo: number): void {
    if (last >= upTo || upTo === Number.MAX_SAFE_INTEGER || !this.#has(upTo)) return;
    throw this.#state.environment.damaged(`events behind ${last} exist but cannot be found`);
  }

  #has(sequence: number): boolean {
    return this.#state.events.events.getBinaryFast(eventKey(sequence)) !== undefined;
  }

  #edge(reverse: boolean): number | null {
    for (const key of this.#state.events.events.getKeys({ reverse, limit: 1 })) return sequenceOf(key);
    return null;
  }

  #forgotten(): NewestEvent {
    const [sequence, idMs] = this.#state.events.forgotten.get(forgottenKey) ?? [0, 0];
    return { sequence, idMs };
  }
}
