/**
 * The kept records of one kind of connection. Writes are behind, in `WriteBehind`; a record and its mark in the
 * table of open sessions are committed together. Source: decisions.md, Connectivity and Durable.
 */
import type { Clock } from '../base/clock.ts';
import type { ConnectionRecord } from '../domain/connectivity.ts';
import type { DeviceId, SessionId } from '../domain/ids.ts';
import type { ConnectionRecords } from '../ports/connection-records.ts';
import type { ConnectionKind, ConnectionRow, ConnectionTables, StateTables } from './state-tables.ts';
import { closeSessionsSlice } from './store-limits.ts';
import { WriteBehind } from './write-behind.ts';

export interface ConnectionRecordSettings {
  readonly clock: Clock;
  /** Records in memory past which the store is overloaded; at most one a device is ever held. */
  readonly backlogMax: number;
  /** Told with the error when the store stops taking commits, and with null when it takes them again. */
  readonly onHealth?: (failure: unknown) => void;
  /** Commits what `write` puts, all or nothing; the store's own unless a test wants it to fail. */
  readonly batch?: (write: () => void) => Promise<void>;
}

export class ConnectionRecordStore implements ConnectionRecords {
  readonly #tables: ConnectionTables;
  readonly #behind: WriteBehind<ConnectionRecord>;

  constructor(state: StateTables, kind: ConnectionKind, settings: ConnectionRecordSettings) {
    const { batch = (write: () => void) => state.environment.batch(write), ...rest } = settings;
    this.#tables = state.connections[kind];
    const commit = (records: ReadonlyMap<string, ConnectionRecord>): Promise<void> =>
      batch(() => this.#put(records));
    this.#behind = new WriteBehind({ ...rest, commit });
  }

  /** False while the store refuses commits: not ready, and what is written waits in memory. */
  get isHealthy(): boolean {
    return this.#behind.isHealthy;
  }

  /** The store has fallen too far behind: let no new session in. Records are still taken. */
  get isOverloaded(): boolean {
    return this.#behind.isOverloaded;
  }

  read(deviceId: DeviceId): ConnectionRecord | null {
    const written = this.#behind.get(deviceId);
    if (written !== undefined) return written;
    const row = this.#tables.records.get(Buffer.from(deviceId));
    return row === undefined ? null : decodeRow(row);
  }

  write(deviceId: DeviceId, record: ConnectionRecord): void {
    this.#behind.set(deviceId, record);
  }

  committed(deviceId: DeviceId): Promise<void> | null {
    return this.#behind.committed(deviceId);
  }

  allCommitted(): Promise<void> {
    return this.#behind.allCommitted();
  }

  /**
   * Ends, at `nowS`, every session that a crash left open, and resolves to their number when that is committed.
   * Before any listener accepts. Done again after another crash it finishes what is left and repeats nothing.
   */
  async closeOpenSessions(nowS: number): Promise<number> {
    let closed = 0;
    let slice = this.#openSlice();
    while (slice.length > 0) {
      for (const key of slice) closed += this.#close(key, nowS);
      await this.allCommitted();
      slice = this.#openSlice(slice.at(-1));
    }
    return closed;
  }

  /** Keys of devices with an open session, behind `after`. */
  #openSlice(after?: Buffer): Buffer[] {
    const start = after === undefined ? {} : { start: after, exclusiveStart: true };
    return Array.from(this.#tables.open.getKeys({ ...start, limit: closeSessionsSlice }));
  }

  #close(key: Buffer, nowS: number): number {
    const deviceId = key.toString() as DeviceId;
    const record = this.read(deviceId);
    if (record === null || record.openSession === null) return 0;
    this.write(deviceId, { ...record, lastOfflineAt: nowS, openSession: null });
    return 1;
  }

  #put(records: ReadonlyMap<string, ConnectionRecord>): void {
    const { records: table, open } = this.#tables;
    for (const [deviceId, record] of records) {
      const key = Buffer.from(deviceId);
      void table.put(key, encodeRow(record));
      if (record.openSession === null) void open.remove(key);
      else void open.put(key, true);
    }
  }
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
