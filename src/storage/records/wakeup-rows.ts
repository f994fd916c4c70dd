/**
 * Rows of known wakeups, in the order of time: a commit of many writes few pages, and so do their outcomes and their removal. A
 * table of names finds them by request id and application. Nearly every request id names one wakeup, so that further ones have
 * longer keys, and only then is the latest stored, of all and of each device.
 */
import type { ApplicationId, DeviceId, RequestId, WakeupId } from '../../model/ids.ts';
import type { WakeCause } from '../../model/signal.ts';
import type { WakeupRecord, WakeupStatus } from '../../model/wakeup.ts';
import type { Table } from '../lmdb/environment.ts';

/** Times are wall milliseconds. Add fields at the end only. */
export type WakeupRow = readonly [
  deviceId: string,
  acceptedAtMs: number | null,
  status: string,
  isAwaited: boolean,
  begunAtMs: number,
  completedAtMs: number | null,
  wokeAfterMs: number | null,
  alreadyOnline: boolean,
  cause: string | null,
  sleepEpoch: number,
  packet: string | null,
  repeatOf?: string,
];

/** `begunAtMs`: of the record, never changed. Add fields at the end only. */
export type NameRow = readonly [id: string, begunAtMs: number, deviceId: string];

export interface WakeupTables {
  /** Keyed by the start time, then by the wakeup's key. */
  readonly records: Table<WakeupRow>;
  /** Keyed by request id and application: the first wakeup. Further ones are keyed like records, without the time. */
  readonly names: Table<NameRow>;
  /** Keys of the records with an awaited outcome; only the keys count. */
  readonly awaited: Table<true>;
  /** Keyed by request id and application, and by device, too: id of the latest wakeup. Only of request ids that name several. */
  readonly latest: Table<string>;
}

export function encodeWakeup(record: WakeupRecord): WakeupRow {
  return [
    record.deviceId,
    record.acceptedAtMs,
    record.status,
    record.isAwaited,
    record.begunAtMs,
    record.completedAtMs,
    record.wokeAfterMs,
    record.alreadyOnline,
    record.cause,
    record.sleepEpoch,
    record.packet,
    ...(record.repeatOf === undefined ? ([] as const) : ([record.repeatOf] as const)),
  ];
}

export function decodeWakeup(id: WakeupId, row: WakeupRow): WakeupRecord {
  return {
    id,
    deviceId: row[0] as DeviceId,
    acceptedAtMs: row[1],
    status: row[2] as WakeupStatus,
    isAwaited: row[3],
    begunAtMs: row[4],
    completedAtMs: row[5],
    wokeAfterMs: row[6],
    alreadyOnline: row[7],
    cause: row[8] as WakeCause | null,
    sleepEpoch: row[9],
    packet: row[10],
    ...(row[11] !== undefined && { repeatOf: row[11] as RequestId }),
  };
}

export interface WakeupKeyParts {
  readonly appId: ApplicationId;
  readonly requestId: RequestId;
  readonly id: WakeupId;
}

/** Request ids and application ids contain no line feed. */
export function wakeupKey({ appId, requestId, id }: WakeupKeyParts): string {
  return `${requestId}\n${appId}\n${id}`;
}

export function parseWakeupKey(key: string): WakeupKeyParts {
  const [requestId, appId, id] = key.split('\n');
  return { appId: appId as ApplicationId, requestId: requestId as RequestId, id: id as WakeupId };
}

/** Common prefix of the names of a request id. */
export function namesPrefix(requestId: RequestId): string {
  return `${requestId}\n`;
}

export function nameKey(requestId: RequestId, appId: ApplicationId): string {
  return `${requestId}\n${appId}`;
}

/** Sorts after every key with this prefix: no key continues with 0xff. */
export function endOfPrefix(prefix: string): Buffer {
  return Buffer.concat([Buffer.from(prefix), Buffer.of(0xff)]);
}

export function deviceKey(appId: ApplicationId, requestId: RequestId, deviceId: DeviceId): string {
  return `${nameKey(requestId, appId)}\n${deviceId}`;
}

/** Milliseconds in 48 bits last until the year 10889. */
const timeBytes = 6;

export function timeKey(wallMs: number, key: string): Buffer {
  const bytes = Buffer.allocUnsafe(timeBytes + Buffer.byteLength(key));
  bytes.writeUIntBE(Math.max(0, Math.floor(wallMs)), 0, timeBytes);
  bytes.write(key, timeBytes);
  return bytes;
}

export function keyOfTime(bytes: Buffer): string {
  return bytes.toString('utf8', timeBytes);
}
