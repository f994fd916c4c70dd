/** The rows of one kind of connection, and how a record is found. */
import type { ConnectionRecord } from '../domain/connectivity.ts';
import type { DeviceId, SessionId } from '../domain/ids.ts';
import type { Table } from './environment.ts';

/** Times are whole Unix seconds. Add at the end only. */
export type ConnectionRow = readonly [
  epoch: number,
  lastLoginAt: number | null,
  lastHeartbeatAt: number | null,
  lastOfflineAt: number | null,
  openSession: string | null,
];

export interface ConnectionTables {
  readonly records: Table<ConnectionRow>;
  /** Devices whose session is open; only the keys count. */
  readonly open: Table<true>;
}

/** The committed record, for the server and for who looks on. Throws when the store cannot be read. */
export function findConnectionRecord(tables: ConnectionTables, deviceId: DeviceId): ConnectionRecord | null {
  const row = tables.records.get(Buffer.from(deviceId));
  return row === undefined ? null : decodeRow(row);
}

/** Inside a batch only: the record and its mark among the open ones. */
export function putConnectionRecord(
  tables: ConnectionTables,
  deviceId: string,
  record: ConnectionRecord,
): void {
  const key = Buffer.from(deviceId);
  void tables.records.put(key, encodeRow(record));
  if (record.openSession === null) void tables.open.remove(key);
  else void tables.open.put(key, true);
}

function encodeRow(record: ConnectionRecord): ConnectionRow {
  const { epoch, lastLoginAt, lastHeartbeatAt, lastOfflineAt, openSession } = record;
  return [epoch, lastLoginAt, lastHeartbeatAt, lastOfflineAt, openSession];
}

function decodeRow(row: ConnectionRow): ConnectionRecord {
  return {
    epoch: row[0],
    lastLoginAt: row[1],
    lastHeartbeatAt: row[2],
    lastOfflineAt: row[3],
    openSession: row[4] as SessionId | null,
  };
}
