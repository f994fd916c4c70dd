/**
 * Assigns places in the log to events and writes them. Places are assigned inside the transaction, one batch at a time and in
 * the order of the events, so the log's sequence and each device's seq continue without a gap after any crash. Source:
 * events.md, The log.
 */
import type { EventDraft, LoggedEvent } from '../../model/events.ts';
import { generateEventId, type DeviceId, type ProductId } from '../../model/ids.ts';
import { recentEventsOfDeviceMax } from '../../model/limits.ts';
import { encodeEvent, eventKey, type EventSeqsRow, type EventTables } from './event-rows.ts';
import type { StateTables } from '../lmdb/state-tables.ts';
import { StoredEvents } from './stored-events.ts';

export interface Happened {
  readonly event: EventDraft;
  readonly productId: ProductId | null;
}

/** The events of one batch with their places, and the new seq rows of their devices. */
export interface PlacedEvents {
  readonly events: readonly LoggedEvent[];
  readonly seqs: ReadonlyMap<DeviceId, EventSeqsRow>;
}

export class EventWriter {
  readonly #tables: EventTables;
  readonly #stored: StoredEvents;
  /** Sequence of the last event put; if its commit failed, the sequence is free or another event's. */
  #last = 0;

  constructor(state: StateTables) {
    this.#tables = state.events;
    this.#stored = new StoredEvents(state);
  }

  /** Inside a transaction: places events after those in the log. Throws when the store cannot be read. */
  place(batch: readonly Happened[]): PlacedEvents {
    const newest = batch.length === 0 ? { sequence: 0, idMs: 0 } : { ...this.#stored.newest(this.#last) };
    const seqs = new Map<DeviceId, EventSeqsRow>();
    const events = batch.map(({ event, productId }) => {
      const row = seqs.get(event.deviceId) ?? this.readSeqs(event.deviceId);
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

  /** True if this batch is visible, not another writer's events in its place. Never throws. */
  isVisible({ events }: PlacedEvents): boolean {
    const last = events.at(-1);
    try {
      return last !== undefined && this.#tables.events.get(eventKey(last.sequence))?.[0] === last.id;
    } catch {
      return false;
    }
  }

  /** A copy of the device's row. */
  readSeqs(deviceId: DeviceId): EventSeqsRow {
    const row = this.#tables.seqs.get(Buffer.from(deviceId));
    return row === undefined ? [0] : [...row];
  }
}

/** Advances `newest` and `row`. Ids never decrease, though the wall clock may step back. */
function placeOne(
  draft: EventDraft,
  productId: ProductId | null,
  newest: { sequence: number; idMs: number },
  row: EventSeqsRow,
): LoggedEvent {
  const { type, data, deviceId, atMs, epoch } = draft;
  const sequence = ++newest.sequence;
  const seq = ++row[0];
  addLatest(row, sequence);
  newest.idMs = Math.max(newest.idMs, Math.floor(atMs));
  const id = generateEventId(newest.idMs, sequence);
  return { type, data, deviceId, atMs, epoch, id, sequence, seq, productId } as LoggedEvent;
}

export function addLatest(row: EventSeqsRow, sequence: number): void {
  if (row.length > recentEventsOfDeviceMax) row.splice(1, 1);
  row.push(sequence);
}
