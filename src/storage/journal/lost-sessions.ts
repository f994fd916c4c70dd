/**
 * Ends the sessions that a crash left open. Each end is a write like that of its device, seen by whoever reads the record
 * next, so that none ends twice. Source: cluster.md; decisions.md, Durable.
 */
import { nextTurn } from '../../lib/clock.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import type { ConnectionRecordStore } from '../records/connection-record-store.ts';
import { findConnectionRecord } from '../records/connection-rows.ts';
import type { StateTables } from '../lmdb/state-tables.ts';
import { closeSessionsSlice } from '../lmdb/store-limits.ts';

/** True: the process that held the session is gone. */
export type IsGone = (session: SessionId, deviceId: DeviceId, connection: ConnectionKind) => boolean;

export interface LostSessionsDeps {
  readonly state: StateTables;
  readonly records: Readonly<Record<ConnectionKind, ConnectionRecordStore>>;
  /** The name of this one, in events. */
  readonly node: string;
}

export class LostSessions {
  readonly #deps: LostSessionsDeps;

  constructor(deps: LostSessionsDeps) {
    this.#deps = deps;
  }

  /**
   * Every open session of one kind whose member is gone ends at `atMs` wall milliseconds as lost with its node. Resolves, when
   * that is committed, to how many were found. A slice at a time, between which the loop goes on; done again after another crash
   * it finishes what is left and repeats nothing. Rejects when the store cannot be read.
   */
  async close(connection: ConnectionKind, isGone: IsGone, atMs: number): Promise<number> {
    let closed = 0;
    let slice = this.#openSlice(connection);
    while (slice.length > 0) {
      const ended = slice.filter((key) => this.#end(connection, key.toString() as DeviceId, isGone, atMs));
      closed += ended.length;
      await (ended.length > 0 ? this.#deps.records[connection].allCommitted() : nextTurn());
      slice = this.#openSlice(connection, slice.at(-1));
    }
    return closed;
  }

  /** Keys of devices with an open session, behind `after`. */
  #openSlice(connection: ConnectionKind, after?: Buffer): Buffer[] {
    const start = after === undefined ? {} : { start: after, exclusiveStart: true };
    const { open } = this.#deps.state.connections[connection];
    return Array.from(open.getKeys({ ...start, limit: closeSessionsSlice }));
  }

  /** False: its session is over, or not lost. A session that is not committed yet is of this process. */
  #end(connection: ConnectionKind, deviceId: DeviceId, isGone: IsGone, atMs: number): boolean {
    const { state, node } = this.#deps;
    const records = this.#deps.records[connection];
    const record = records.read(deviceId);
    const session = findConnectionRecord(state.connections[connection], deviceId)?.openSession ?? null;
    if (record === null || session === null || record.openSession !== session) return false;
    if (!isGone(session, deviceId, connection)) return false;
    const { epoch } = record;
    // The row has all that is known of its heartbeats.
    const ended = { ...record, openSession: null, lastOfflineAt: Math.floor(atMs / 1000) };
    const end = { kind: 'ended', connection, session, epoch, atMs, node, reason: 'node_lost' } as const;
    records.write(deviceId, ended, end);
    return true;
  }
}
