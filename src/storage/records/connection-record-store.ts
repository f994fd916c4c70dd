/**
 * The kept records of one kind of connection, in the journal: a record, its mark in the table of open sessions and
 * the event that goes with it are committed together. Source: decisions.md, Connectivity and Durable.
 */
import type { SessionTransition } from '../../model/state/session-event.ts';
import { reduceConnection } from '../../model/state/connection-session.ts';
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
import { closeSessionsSlice } from '../lmdb/store-limits.ts';

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

  /**
   * Ends every session that a crash of the only process left open, at `atMs` wall milliseconds, as lost with its node, and resolves to
   * their number when that is committed. Before any listener accepts. Done again after another crash it finishes what
   * is left and repeats nothing.
   */
  async closeOpenSessions(atMs: number, node: string): Promise<number> {
    let closed = 0;
    let slice = this.#openSlice();
    while (slice.length > 0) {
      for (const key of slice) closed += this.#close(key.toString() as DeviceId, atMs, node);
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

  #close(deviceId: DeviceId, atMs: number, node: string): number {
    const record = this.read(deviceId);
    if (record === null || record.openSession === null) return 0;
    const { epoch } = record;
    const lost = { kind: 'ended', epoch, reason: 'node_lost', atMs, heartbeatAt: 0 } as const;
    const step = reduceConnection<'node_lost'>(record, lost);
    for (const effect of step.effects)
      if (effect.kind === 'save' && effect.change !== null)
        this.write(deviceId, step.record, {
          kind: 'ended',
          connection: this.#kind,
          session: record.openSession,
          epoch,
          atMs,
          node,
          reason: 'node_lost',
        });
    return 1;
  }

  #findStored(deviceId: DeviceId): ConnectionRecord | null {
    return this.#member === null
      ? findConnectionRecord(this.#tables, deviceId)
      : findOwnRecord(this.#tables, deviceId, this.#member);
  }
}
