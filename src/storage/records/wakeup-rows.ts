/**
 * The rows of known wakeups, each by its request id, its application and its own id, so that those that bear one request id
 * stand together, the latest last. A table beside them has the latest of each device.
 */
import type { ApplicationId, DeviceId, RequestId, WakeupId } from '../../model/ids.ts';
import type { WakeCause } from '../../model/signal.ts';
import type { WakeupRecord, WakeupStatus } from '../../model/wakeup.ts';
import type { Table } from '../lmdb/environment.ts';

/** Wall milliseconds. Add at the end only. */
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

export interface WakeupTables {
  /** By request id, application and id. */
  readonly records: Table<WakeupRow>;
  /** The same keys behind the time of their beginning; only the keys count. */
  readonly times: Table<true>;
  /** Of those, the ones whose outcome is awaited. */
  readonly awaited: Table<true>;
  /** By request id, application and device: the id of the latest. */
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

/** Neither a request id nor an application id holds a line feed. */
export function wakeupKey({ appId, requestId, id }: WakeupKeyParts): string {
  return `${requestId}\n${appId}\n${id}`;
}

export function parseWakeupKey(key: string): WakeupKeyParts {
  const [requestId, appId, id] = key.split('\n');
  return { appId: appId as ApplicationId, requestId: requestId as RequestId, id: id as WakeupId };
}

/** What all keys of a request id begin with, and of an application's. */
export function keyPrefix(requestId: RequestId, appId?: ApplicationId): string {
  return appId === undefined ? `${requestId}\n` : `${requestId}\n${appId}\n`;
}

/** Behind every key of that prefix: no key goes on with a byte so high. */
export function endOfPrefix(prefix: string): Buffer {
  return Buffer.concat([Buffer.from(prefix), Buffer.of(0xff)]);
}

export function deviceKey(appId: ApplicationId, requestId: RequestId, deviceId: DeviceId): string {
  return keyPrefix(requestId, appId) + deviceId;
}

/** Milliseconds in 48 bits last until the year 10889. */
const timeBytes = 6;

export function timeKey(wallMs: number, key: string): Buffer {
  const bytes = Buffer.allocUnsafe(timeBytes + Buffer.byteLength(key));
  bytes.writeUIntBE(Math.max(0, Math.floor(wallMs)), 0, timeBytes);
  bytes.write(key, timeBytes);
  return bytes;
}

/** The key behind the time. */
export function keyOfTime(bytes: Buffer): string {
  return bytes.toString('utf8', timeBytes);
}
