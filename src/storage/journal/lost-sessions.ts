/**
 * Closes the sessions that a crash left open. Each end is written like one of the device itself and is visible to the next read
 * of the record, so no session ends twice. Source: cluster.md; decisions.md, Durable.
 */
import { nextTurn } from '../../lib/clock.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import type { ConnectionRecordStore } from '../records/connection-record-store.ts';
import { findConnectionRecord } from '../records/connection-rows.ts';
import type { StateTables } from '../lmdb/state-tables.ts';
import { closeSessionsSlice } from '../lmdb/store-limits.ts';

/** True: the process that owned the session is gone. */
export type IsGone = (session: SessionId, deviceId: DeviceId, connection: ConnectionKind) => boolean;

export interface LostSessionsDeps {
  readonly state: StateTables;
  readonly records: Readonly<Record<ConnectionKind, ConnectionRecordStore>>;
  readonly node: string;
}

export class LostSessions {
  readonly #deps: LostSessionsDeps;

  constructor(deps: LostSessionsDeps) {
    this.#deps = deps;
  }

  /**
   * Ends each open session of one kind whose member is gone, at `atMs` (wall milliseconds) with reason `node_lost`. Resolves to
   * their number once they are committed. Works in slices and yields to the loop between them; after another crash it closes
   * the rest and repeats none. Rejects when the store cannot be read.
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

  #openSlice(connection: ConnectionKind, after?: Buffer): Buffer[] {
    const start = after === undefined ? {} : { start: after, exclusiveStart: true };
    const { open } = this.#deps.state.connections[connection];
    return Array.from(open.getKeys({ ...start, limit: closeSessionsSlice }));
  }

  /** False: the session has ended, or is not lost. An uncommitted session belongs to this process. */
  #end(connection: ConnectionKind, deviceId: DeviceId, isGone: IsGone, atMs: number): boolean {
    const { state, node } = this.#deps;
    const records = this.#deps.records[connection];
    const record = records.read(deviceId);
    const session = findConnectionRecord(state.connections[connection], deviceId)?.openSession ?? null;
    if (record === null || session === null || record.openSession !== session) return false;
    if (!isGone(session, deviceId, connection)) return false;
    const { epoch } = record;
    const ended = { ...record, openSession: null, lastOfflineAt: Math.floor(atMs / 1000) };
    const end = { kind: 'ended', connection, session, epoch, atMs, node, reason: 'node_lost' } as const;
    records.write(deviceId, ended, end);
    return true;
  }
}
