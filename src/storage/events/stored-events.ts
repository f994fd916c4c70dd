/**
 * The event log as it is committed, and nothing of what is on its way: for the server's own reader, for a thread that
 * opens the same directory, and for who looks on from another process.
 * Every call throws when the store cannot be read.
 */
import type { LoggedEvent } from '../../model/events.ts';
import type { DeviceId, EventId } from '../../model/ids.ts';
import { decodeEvent, eventIdMs, eventKey, forgottenKey, sequenceOf } from './event-rows.ts';
import type { StateTables } from '../lmdb/state-tables.ts';

/** Where the log is: the newest sequence ever, and the milliseconds in its id. Zeros: nothing happened yet. */
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

  /** The sequence of the newest event; 0: none yet. */
  get head(): number {
    return this.#edge(true) ?? this.#forgotten().sequence;
  }

  /** The sequence of the oldest event that is kept; `head + 1` when there is none. */
  get oldest(): number {
    return this.#edge(false) ?? this.#forgotten().sequence + 1;
  }

  /** `guess`: where it may be, in a log without gaps; to look there is a tenth of a look for the end. */
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

  /** Events behind `after` up to `upTo`, both sequences, in their order, at most `limit`. About 2 µs each. */
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

  /** Sequences of the device's latest events up to `upTo`, newest first; some may have been forgotten. */
  recentSequences(deviceId: DeviceId, upTo = Number.MAX_SAFE_INTEGER): number[] {
    const row = this.#state.events.seqs.get(Buffer.from(deviceId));
    if (row === undefined) return [];
    return row
      .slice(1)
      .filter((sequence) => sequence <= upTo)
      .reverse();
  }

  /** The device's latest events that are kept, newest first, at most `recentEventsOfDeviceMax`. */
  recentOf(deviceId: DeviceId): LoggedEvent[] {
    return this.recentSequences(deviceId).flatMap((sequence) => this.find(sequence) ?? []);
  }

  /** Lets reads of this turn see what another thread has committed. */
  refresh(): void {
    this.#state.environment.refresh();
  }

  /** For who follows the log, and reads one or two events at a time: to begin a walk costs as much as several look-ups. */
  #readEach(after: number, limit: number, upTo: number): LoggedEvent[] {
    const events: LoggedEvent[] = [];
    for (let sequence = after + 1; sequence <= upTo && events.length < limit; sequence += 1) {
      const event = this.find(sequence);
      if (event !== null) events.push(event);
    }
    return events;
  }

  /** The log has no gaps. LMDB ends a walk without a word at some pages that it cannot follow: readers would wait for ever. */
  #checkEnd(last: number, upTo: number): void {
    if (last >= upTo || upTo === Number.MAX_SAFE_INTEGER || !this.#has(upTo)) return;
    throw this.#state.environment.damaged(`events behind ${last} are there and are not found`);
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
