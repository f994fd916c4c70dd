/** The rows of known wakeups. Rows of the first release end with the hash and mean a settled acceptance. */
import type { MemberId } from '../../model/cluster.ts';
import type { ApplicationId, DeviceId, RequestId } from '../../model/ids.ts';
import type { WakeCause } from '../../model/signal.ts';
import type { WakeupRecord, WakeupStatus } from '../../model/wakeup.ts';
import type { Table } from '../lmdb/environment.ts';

/** Wall milliseconds; the hash is 32 bytes. Add at the end only. */
export type WakeupRow = readonly [
  deviceId: string,
  acceptedAtMs: number | null,
  bodySha256: Uint8Array,
  status?: string,
  isAwaited?: boolean,
  begunAtMs?: number,
  completedAtMs?: number | null,
  wokeAfterMs?: number | null,
  alreadyOnline?: boolean,
  cause?: string | null,
  sleepEpoch?: number,
  isCallersId?: boolean,
  watcher?: string | null,
];

export interface WakeupTables {
  /** By application and request id. */
  readonly records: Table<WakeupRow>;
  /** The same keys behind the time of their beginning; only the keys count. */
  readonly times: Table<true>;
  /** Of those, the ones whose outcome is awaited. */
  readonly awaited: Table<true>;
}

export function encodeWakeup(record: WakeupRecord): WakeupRow {
  return [
    record.deviceId,
    record.acceptedAtMs,
    Buffer.from(record.bodySha256, 'hex'),
    record.status,
    record.isAwaited,
    record.begunAtMs,
    record.completedAtMs,
    record.wokeAfterMs,
    record.alreadyOnline,
    record.cause,
    record.sleepEpoch,
    record.isCallersId,
    record.watcher,
  ];
}

export function decodeWakeup(row: WakeupRow): WakeupRecord {
  return {
    deviceId: row[0] as DeviceId,
    acceptedAtMs: row[1],
    bodySha256: Buffer.from(row[2]).toString('hex'),
    status: (row[3] ?? 'accepted') as WakeupStatus,
    isAwaited: row[4] ?? false,
    begunAtMs: row[5] ?? row[1] ?? 0,
    completedAtMs: row[6] ?? null,
    wokeAfterMs: row[7] ?? null,
    alreadyOnline: row[8] ?? false,
    cause: (row[9] ?? null) as WakeCause | null,
    sleepEpoch: row[10] ?? 0,
    isCallersId: row[11] ?? true,
    watcher: (row[12] ?? null) as MemberId | null,
  };
}

export function parseWakeupKey(key: string): {
  readonly appId: ApplicationId;
  readonly requestId: RequestId;
} {
  const end = key.indexOf('\n');
  return { appId: key.slice(0, end) as ApplicationId, requestId: key.slice(end + 1) as RequestId };
}

/** Milliseconds in 48 bits last until the year 10889. */
const timeBytes = 6;

export function timeKey(wallMs: number, key: string): Buffer {
  const bytes = Buffer.allocUnsafe(timeBytes + Buffer.byteLength(key));
  bytes.writeUIntBE(timeOf(wallMs), 0, timeBytes);
  bytes.write(key, timeBytes);
  return bytes;
}

export function parseTimeKey(bytes: Buffer): { readonly wallMs: number; readonly key: string } {
  return { wallMs: bytes.readUIntBE(0, timeBytes), key: bytes.toString('utf8', timeBytes) };
}

/** As it stands in a key. */
export function timeOf(wallMs: number): number {
  return Math.max(0, Math.floor(wallMs));
}
