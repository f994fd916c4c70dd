/** Rows of one kind of connection. */
import type { ConnectionRecord } from '../../model/connectivity.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import type { Table } from '../lmdb/environment.ts';

/** Times are whole Unix seconds. Add fields at the end only. */
export type ConnectionRow = readonly [
  epoch: number,
  lastLoginAt: number | null,
  lastHeartbeatAt: number | null,
  lastOfflineAt: number | null,
  openSession: string | null,
];

export interface ConnectionTables {
  readonly records: Table<ConnectionRow>;
  /** Devices with an open session; only the keys count. */
  readonly open: Table<true>;
}

/** The committed record. Throws when the store cannot be read. */
export function findConnectionRecord(tables: ConnectionTables, deviceId: DeviceId): ConnectionRecord | null {
  const row = tables.records.get(Buffer.from(deviceId));
  return row === undefined ? null : decodeRow(row);
}

/** Inside a transaction only: puts the record and its mark among the open sessions. `mayTurn` false: the mark is right already. */
export function putConnectionRecord(
  tables: ConnectionTables,
  deviceId: string,
  record: ConnectionRecord,
  mayTurn = true,
): void {
  const key = Buffer.from(deviceId);
  void tables.records.put(key, encodeRow(record));
  if (!mayTurn) return;
  if (record.openSession !== null) void tables.open.put(key, true);
  else void tables.open.remove(key);
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
