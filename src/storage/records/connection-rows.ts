/** The rows of one kind of connection, and how a record is found. */
import type { MemberId, SessionSlot, SharedConnection } from '../../model/cluster.ts';
import type { ConnectionRecord } from '../../model/connectivity.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import type { Table } from '../lmdb/environment.ts';

/**
 * Times are whole Unix seconds, and `loginAtMs` wall milliseconds. What stands behind the open session says where it
 * is, and only where several processes write the store. Add at the end only.
 */
export type ConnectionRow = readonly [
  epoch: number,
  lastLoginAt: number | null,
  lastHeartbeatAt: number | null,
  lastOfflineAt: number | null,
  openSession: string | null,
  member?: string,
  node?: string,
  loginAtMs?: number,
];

export interface ConnectionTables {
  readonly records: Table<ConnectionRow>;
  /** Devices whose session is open; only the keys count. */
  readonly open: Table<true>;
}

/** The member that writes its store alone, or a node's: its rows have no member. */
export const onlyMember = '' as MemberId;

/** The committed record, for the server and for who looks on. Throws when the store cannot be read. */
export function findConnectionRecord(tables: ConnectionTables, deviceId: DeviceId): ConnectionRecord | null {
  const row = tables.records.get(Buffer.from(deviceId));
  return row === undefined ? null : decodeRow(row);
}

/** The same as a member has it: the sessions of others are not open for it. */
export function findOwnRecord(
  tables: ConnectionTables,
  deviceId: DeviceId,
  member: MemberId,
): ConnectionRecord | null {
  const row = tables.records.get(Buffer.from(deviceId));
  if (row === undefined) return null;
  const record = decodeRow(row);
  return row[4] === null || (row[5] ?? onlyMember) === member ? record : { ...record, openSession: null };
}

/** As all processes have it; null: the device never logged in. Throws when the store cannot be read. */
export function findSharedConnection(tables: ConnectionTables, deviceId: DeviceId): SharedConnection | null {
  const row = tables.records.get(Buffer.from(deviceId));
  if (row === undefined) return null;
  const [epoch, lastLoginAt, lastHeartbeatAt, lastOfflineAt] = row;
  return { epoch, slots: slotsOf(row), lastLoginAt, lastHeartbeatAt, lastOfflineAt };
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

/** Inside a transaction only. `wasOpen`: whether it has a mark among the open ones. One slot at most. */
export function putSharedConnection(
  tables: ConnectionTables,
  deviceId: DeviceId,
  row: SharedConnection,
  wasOpen: boolean,
): void {
  const key = Buffer.from(deviceId);
  const isOpen = row.slots.length > 0;
  void tables.records.put(key, encodeShared(row));
  if (isOpen && !wasOpen) void tables.open.put(key, true);
  if (wasOpen && !isOpen) void tables.open.remove(key);
}

function encodeRow(record: ConnectionRecord): ConnectionRow {
  const { epoch, lastLoginAt, lastHeartbeatAt, lastOfflineAt, openSession } = record;
  return [epoch, lastLoginAt, lastHeartbeatAt, lastOfflineAt, openSession];
}

function encodeShared(shared: SharedConnection): ConnectionRow {
  const { epoch, lastLoginAt, lastHeartbeatAt, lastOfflineAt, slots } = shared;
  const [slot] = slots;
  if (slot === undefined) return [epoch, lastLoginAt, lastHeartbeatAt, lastOfflineAt, null];
  const { session, member, node, loginAtMs } = slot;
  if (member === onlyMember) return [epoch, lastLoginAt, lastHeartbeatAt, lastOfflineAt, session];
  return [epoch, lastLoginAt, lastHeartbeatAt, lastOfflineAt, session, member, node, loginAtMs];
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

/** There is one slot of a kind, so its epoch is the newest that was given. */
function slotsOf(row: ConnectionRow): readonly SessionSlot[] {
  const [epoch, lastLoginAt, , , session, member = onlyMember, node = '', loginAtMs] = row;
  if (session === null) return [];
  return [
    {
      member: member as MemberId,
      node,
      session: session as SessionId,
      epoch,
      loginAtMs: loginAtMs ?? (lastLoginAt ?? 0) * 1000,
    },
  ];
}
