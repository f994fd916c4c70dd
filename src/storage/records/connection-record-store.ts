/**
 * Durable records of one kind of connection: a record, its mark in the table of open sessions and its event are committed together.
 * Source: decisions.md, Connectivity and Durable.
 */
import type { SessionTransition } from '../../model/state/session-event.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import type { ConnectionRecord } from '../../model/connectivity.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { ConnectionRecords } from '../../core/ports/records.ts';
import { findConnectionRecord, putConnectionRecord, type ConnectionTables } from './connection-rows.ts';
import type { Journal } from '../journal/journal.ts';
import { JournalSlot } from '../journal/journal-slot.ts';
import type { ConnectionTransition } from '../journal/transition.ts';
import { countEntries } from '../lmdb/environment.ts';
import type { StateTables } from '../lmdb/state-tables.ts';

export class ConnectionRecordStore implements ConnectionRecords {
  readonly #tables: ConnectionTables;
  readonly #journal: Journal;
  readonly #kind: ConnectionKind;
  readonly #slot: JournalSlot<ConnectionTransition>;

  constructor(state: StateTables, kind: ConnectionKind, journal: Journal) {
    const tables = state.connections[kind];
    this.#tables = tables;
    this.#journal = journal;
    this.#kind = kind;
    this.#slot = new JournalSlot(journal, (key, { record, session }) =>
      putConnectionRecord(tables, key, record, session !== null || record.openSession === null),
    );
  }

  read(deviceId: DeviceId): ConnectionRecord | null {
    return this.#slot.get(deviceId)?.record ?? findConnectionRecord(this.#tables, deviceId);
  }

  has(deviceId: DeviceId): boolean {
    const key = Buffer.from(deviceId);
    return this.#slot.get(deviceId) !== undefined || this.#tables.records.getBinaryFast(key) !== undefined;
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
