/**
 * Durable records of one kind of connection: a record, its mark in the table of open sessions and its event are committed together.
 * Source: decisions.md, Connectivity and Durable.
 */
import type { SessionTransition } from '../../model/state/session-event.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import type { ConnectionRecord } from '../../model/connectivity.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { ConnectionRecords } from '../../core/ports/records.ts';
import { bytesOfText, byteTextOf } from '../../lib/utf8.ts';
import {
  findConnectionRecord,
  putConnectionRecord,
  type ConnectionRow,
  type ConnectionTables,
} from './connection-rows.ts';
import type { Journal } from '../journal/journal.ts';
import { JournalSlot } from '../journal/journal-slot.ts';
import type { ConnectionTransition } from '../journal/transition.ts';
import { countEntries } from '../lmdb/environment.ts';
import { RawTable } from '../lmdb/raw-table.ts';
import type { StateTables } from '../lmdb/state-tables.ts';

export class ConnectionRecordStore implements ConnectionRecords {
  readonly #tables: ConnectionTables;
  readonly #journal: Journal;
  readonly #kind: ConnectionKind;
  readonly #slot: JournalSlot<ConnectionTransition>;
  readonly #keys: RawTable<ConnectionRow>;
  #ids: string[] = [];

  constructor(state: StateTables, kind: ConnectionKind, journal: Journal) {
    const tables = state.connections[kind];
    this.#tables = tables;
    this.#journal = journal;
    this.#kind = kind;
    this.#keys = new RawTable(tables.records, {
      key: (bytes, start, end) => void this.#ids.push(bytes.toString('latin1', start, end)),
      row: null,
      isFull: () => false,
    });
    this.#slot = new JournalSlot(journal, (key, { record, session }) =>
      putConnectionRecord(tables, key, record, session !== null || record.openSession === null),
    );
  }

  read(deviceId: DeviceId): ConnectionRecord | null {
    return this.#slot.get(deviceId)?.record ?? findConnectionRecord(this.#tables, deviceId);
  }

  ids(first: string, last: string): readonly string[] {
    this.#ids = [];
    this.#keys.read({ start: bytesOfText(first), end: bytesOfText(last) });
    const uncommitted = Array.from(this.#slot.entries(), ([deviceId]) => byteTextOf(deviceId));
    const further = uncommitted.filter((id) => id >= first && id <= last);
    return further.length === 0 ? this.#ids : [...new Set([...this.#ids, ...further])].sort();
  }

  write(deviceId: DeviceId, record: ConnectionRecord, session: SessionTransition | null): void {
    const transition = { kind: 'connection', connection: this.#kind, deviceId, record, session } as const;
    if (session === null) this.#slot.amend(deviceId, transition, (newest) => ({ ...newest, record }));
    else this.#slot.write(deviceId, transition, true);
  }

  get openCount(): number {
    return countEntries(this.#tables.open);
  }

  committed(deviceId: DeviceId): Promise<void> | null {
    return this.#slot.committed(deviceId);
  }

  allCommitted(): Promise<void> {
    return this.#journal.allCommitted();
  }
}
