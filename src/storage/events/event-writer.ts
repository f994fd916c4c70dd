/**
 * Gives events their places in the log and writes them. The places of a batch are given in its transaction, one batch at a
 * time and in the order in which the events happened, so both the log's sequence and each device's seq go on without a gap
 * from what is committed, whenever a crash comes and whoever else writes. Source: events.md, The log.
 */
import type { EventDraft, LoggedEvent } from '../../model/events.ts';
import { generateEventId, type DeviceId, type ProductId } from '../../model/ids.ts';
import { recentEventsOfDeviceMax } from '../../model/limits.ts';
import { encodeEvent, eventKey, type EventSeqsRow, type EventTables } from './event-rows.ts';
import type { StateTables } from '../lmdb/state-tables.ts';
import { StoredEvents } from './stored-events.ts';

/** What has happened, with what its device was of at that moment. */
export interface Happened {
  readonly event: EventDraft;
  readonly productId: ProductId | null;
}

/** The events of one batch with their places, and what the rows of their devices become. */
export interface PlacedEvents {
  readonly events: readonly LoggedEvent[];
  readonly seqs: ReadonlyMap<DeviceId, EventSeqsRow>;
}

export class EventWriter {
  readonly #tables: EventTables;
  readonly #stored: StoredEvents;
  /** Of the last batch that was put; where its commit failed, nothing has it, or another's event. */
  #last = 0;

  constructor(state: StateTables) {
    this.#tables = state.events;
    this.#stored = new StoredEvents(state);
  }

  /** Inside a transaction: behind what is in the log. Throws when the store cannot be read. */
  place(batch: readonly Happened[]): PlacedEvents {
    const newest = batch.length === 0 ? { sequence: 0, idMs: 0 } : { ...this.#stored.newest(this.#last) };
    const seqs = new Map<DeviceId, SeqsRow>();
    const events = batch.map(({ event, productId }) => {
      const row = seqs.get(event.deviceId) ?? this.#readSeqs(event.deviceId);
      seqs.set(event.deviceId, row);
      return placeOne(event, productId, newest, row);
    });
    this.#last = newest.sequence;
    return { events, seqs };
  }

  /** Inside a batch only. */
  put({ events, seqs }: PlacedEvents): void {
    for (const event of events) void this.#tables.events.put(eventKey(event.sequence), encodeEvent(event));
    for (const [deviceId, row] of seqs) void this.#tables.seqs.put(Buffer.from(deviceId), row);
  }

  /** Whether the batch with these is visible: they, and not what another put there. Never throws. */
  isVisible({ events }: PlacedEvents): boolean {
    const last = events.at(-1);
    try {
      return last !== undefined && this.#tables.events.get(eventKey(last.sequence))?.[0] === last.id;
    } catch {
      return false;
    }
  }

  #readSeqs(deviceId: DeviceId): SeqsRow {
    const row = this.#tables.seqs.get(Buffer.from(deviceId));
    return row === undefined ? [0] : [...row];
  }
}

/** `newest` and `row` go on with it. The wall clock may step back, ids do not. */
function placeOne(
  draft: EventDraft,
  productId: ProductId | null,
  newest: { sequence: number; idMs: number },
  row: SeqsRow,
): LoggedEvent {
  const { type, data, deviceId, atMs, epoch } = draft;
  const sequence = ++newest.sequence;
  const seq = ++row[0];
  if (row.length > recentEventsOfDeviceMax) row.splice(1, 1);
  row.push(sequence);
  newest.idMs = Math.max(newest.idMs, Math.floor(atMs));
  const id = generateEventId(newest.idMs, sequence);
  return { type, data, deviceId, atMs, epoch, id, sequence, seq, productId } as LoggedEvent;
}

type SeqsRow = [seq: number, ...latest: number[]];
