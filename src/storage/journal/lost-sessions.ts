/**
 * Ends the sessions that a crash left open. Each end goes through the journal, whose transaction passes over a session that
 * is not open any more, so that none ends twice. Source: cluster.md; decisions.md, Durable.
 */
import { nextTurn } from '../../lib/clock.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import type { ConnectionRecord } from '../../model/connectivity.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import { findConnectionRecord, putConnectionRecord } from '../records/connection-rows.ts';
import type { Journal } from './journal.ts';
import type { StateTables } from '../lmdb/state-tables.ts';
import { closeSessionsSlice } from '../lmdb/store-limits.ts';

interface Lost {
  readonly connection: ConnectionKind;
  readonly deviceId: DeviceId;
  readonly session: SessionId;
  /** As it was found. */
  readonly record: ConnectionRecord;
}

/** True: the process that held the session is gone. */
export type IsGone = (session: SessionId, deviceId: DeviceId, connection: ConnectionKind) => boolean;

export class LostSessions {
  readonly #state: StateTables;
  readonly #journal: Journal;
  readonly #node: string;

  /** `node`: the name of this one, in events. */
  constructor(state: StateTables, journal: Journal, node: string) {
    this.#state = state;
    this.#journal = journal;
    this.#node = node;
  }

  /**
   * Every open session of one kind whose member is gone ends at `atMs` wall milliseconds as lost with its node;
   * `onlyMember` has those of a process that wrote alone. Resolves, when that is committed, to how many were found; one
   * that ended meanwhile is among them. A slice at a time, between which the loop goes on; done again after another crash
   * it finishes what is left and repeats nothing. Rejects when the store cannot be read.
   */
  async close(connection: ConnectionKind, isGone: IsGone, atMs: number): Promise<number> {
    let closed = 0;
    let slice = this.#openSlice(connection);
    while (slice.length > 0) {
      const lost = slice.flatMap((key) => this.#findLost(connection, key, isGone) ?? []);
      for (const one of lost) this.#end(one, atMs);
      closed += lost.length;
      await (lost.length > 0 ? this.#journal.allCommitted() : nextTurn());
      slice = this.#openSlice(connection, slice.at(-1));
    }
    return closed;
  }

  /** Keys of devices with an open session, behind `after`. */
  #openSlice(connection: ConnectionKind, after?: Buffer): Buffer[] {
    const start = after === undefined ? {} : { start: after, exclusiveStart: true };
    const { open } = this.#state.connections[connection];
    return Array.from(open.getKeys({ ...start, limit: closeSessionsSlice }));
  }

  #findLost(connection: ConnectionKind, key: Buffer, isGone: IsGone): Lost | null {
    const deviceId = key.toString() as DeviceId;
    const record = findConnectionRecord(this.#state.connections[connection], deviceId);
    const session = record?.openSession ?? null;
    if (record === null || session === null || !isGone(session, deviceId, connection)) return null;
    return { connection, deviceId, session, record };
  }

  #end({ connection, deviceId, session, record }: Lost, atMs: number): void {
    const node = this.#node;
    const { epoch } = record;
    const transition = {
      kind: 'connection',
      connection,
      deviceId,
      // Of its heartbeats no more is known than the row has.
      record: { ...record, openSession: null, lastOfflineAt: Math.floor(atMs / 1000) },
      session: { kind: 'ended', connection, session, epoch, atMs, node, reason: 'node_lost' },
    } as const;
    const productId = this.#journal.productOf(transition);
    const tables = this.#state.connections[connection];
    // No table's slot in the journal has it: this process may have a session of the device by now.
    const put = (): void => putConnectionRecord(tables, deviceId, transition.record);
    const entry = { transition, productId, waiter: null, isHandedOver: false, put, settle: () => undefined };
    this.#journal.take(entry, true);
  }
}
