/**
 * The kept records of one kind of connection, in the journal: a record, its mark in the table of open sessions and
 * the event that goes with it are committed together. Source: decisions.md, Connectivity and Durable.
 */
import type { SessionTransition } from '../../model/state/session-event.ts';
import type { ConnectionKind, MemberId } from '../../model/cluster.ts';
import type { ConnectionRecord } from '../../model/connectivity.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { ConnectionRecords } from '../../core/ports/connection-records.ts';
import {
  findConnectionRecord,
  findOwnRecord,
  putConnectionRecord,
  type ConnectionTables,
} from './connection-rows.ts';
import type { Journal } from '../journal/journal.ts';
import { JournalSlot } from '../journal/journal-slot.ts';
import type { ConnectionTransition } from '../journal/transition.ts';
import type { StateTables } from '../lmdb/state-tables.ts';

export class ConnectionRecordStore implements ConnectionRecords {
  readonly #tables: ConnectionTables;
  readonly #journal: Journal;
  readonly #kind: ConnectionKind;
  readonly #slot: JournalSlot<ConnectionTransition>;
  readonly #member: MemberId | null;

  /** `member`: who this process is among several that write the store; null: it writes it alone. */
  constructor(state: StateTables, kind: ConnectionKind, journal: Journal, member: MemberId | null = null) {
    const tables = state.connections[kind];
    this.#tables = tables;
    this.#journal = journal;
    this.#kind = kind;
    this.#member = member;
    this.#slot = new JournalSlot(journal, (key, { record }) => putConnectionRecord(tables, key, record));
  }

  read(deviceId: DeviceId): ConnectionRecord | null {
    return this.#slot.get(deviceId)?.record ?? this.#findStored(deviceId);
  }

  write(deviceId: DeviceId, record: ConnectionRecord, session: SessionTransition | null): void {
    const transition = { kind: 'connection', connection: this.#kind, deviceId, record, session } as const;
    if (session === null) this.#slot.amend(deviceId, transition, (newest) => ({ ...newest, record }));
    else this.#slot.write(deviceId, transition, true);
  }

  committed(deviceId: DeviceId): Promise<void> | null {
    return this.#slot.committed(deviceId);
  }

  allCommitted(): Promise<void> {
    return this.#journal.allCommitted();
  }

  #findStored(deviceId: DeviceId): ConnectionRecord | null {
    return this.#member === null
      ? findConnectionRecord(this.#tables, deviceId)
      : findOwnRecord(this.#tables, deviceId, this.#member);
  }
}
