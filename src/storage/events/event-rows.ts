/** Rows of the event log and their encoding. Source: events.md, The log. */
import type { EventType, LoggedEvent } from '../../model/events.ts';
import type { DeviceId, EventId, ProductId } from '../../model/ids.ts';
import type { Table } from '../lmdb/environment.ts';

/** `data` is JSON text, so that values reported by a device are returned unchanged. Add fields at the end only. */
export type EventRow = readonly [
  id: string,
  type: string,
  atMs: number,
  deviceId: string,
  seq: number,
  epoch: number | null,
  productId: string | null,
  data: string,
];

/** A device's newest seq, kept after its events are removed, and the log sequences of its latest events, oldest first. */
export type EventSeqsRow = [seq: number, ...latest: number[]];

/** The newest removed event: the log continues from it when it is empty. Add fields at the end only. */
export type ForgottenRow = readonly [sequence: number, idMs: number];

export interface EventTables {
  /** Keyed by sequence: eight bytes, big-endian. */
  readonly events: Table<EventRow>;
  readonly seqs: Table<EventSeqsRow>;
  /** One row, `forgottenKey`. */
  readonly forgotten: Table<ForgottenRow>;
}

export const forgottenKey = Buffer.from('newest');

export function encodeEvent(event: LoggedEvent): EventRow {
  const { id, type, atMs, deviceId, seq, epoch, productId, data } = event;
  return [id, type, atMs, deviceId, seq, epoch, productId, JSON.stringify(data)];
}

export function decodeEvent(sequence: number, row: EventRow): LoggedEvent {
  return {
    type: row[1] as EventType,
    data: JSON.parse(row[7]) as LoggedEvent['data'],
    deviceId: row[3] as DeviceId,
    atMs: row[2],
    epoch: row[5],
    id: row[0] as EventId,
    sequence,
    seq: row[4],
    productId: row[6] as ProductId | null,
  } as LoggedEvent;
}

export function eventKey(sequence: number): Buffer {
  const key = Buffer.allocUnsafe(8);
  key.writeUInt32BE(Math.floor(sequence / 2 ** 32), 0);
  key.writeUInt32BE(sequence >>> 0, 4);
  return key;
}

export function sequenceOf(key: Buffer): number {
  return key.readUInt32BE(0) * 2 ** 32 + key.readUInt32BE(4);
}

/** Milliseconds in an event id, a UUIDv7: they never decrease from one event to the next. */
export function eventIdMs(id: EventId): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}
