/**
 * Ends the sessions that a process left open when it was lost. Each end goes through the journal, and so through the
 * transaction in which a session that has no seat any more is passed over: whoever does the same at the same time, no
 * session ends twice. Source: cluster.md, Several processes on one machine.
 */
import type { ConnectionKind, MemberId, SessionSlot } from '../../model/cluster.ts';
import { neverConnected } from '../../model/connectivity.ts';
import type { DeviceId, ProductId } from '../../model/ids.ts';
import { findSharedConnection } from '../records/connection-rows.ts';
import type { Journal } from './journal.ts';
import type { JournalEntry, Waiter } from './journal-slot.ts';
import type { ConnectionTransition } from './transition.ts';
import type { StateTables } from '../lmdb/state-tables.ts';
import { lostSessionsSlice } from '../lmdb/store-limits.ts';

interface Lost {
  readonly connection: ConnectionKind;
  readonly deviceId: DeviceId;
  readonly slot: SessionSlot;
}

export class LostSessions {
  readonly #state: StateTables;
  readonly #journal: Journal;
  readonly #node: string;

  /** `node`: of a session that does not say where it was. */
  constructor(state: StateTables, journal: Journal, node: string) {
    this.#state = state;
    this.#journal = journal;
    this.#node = node;
  }

  /**
   * Every open session whose member is gone ends at `atMs` wall milliseconds as lost with its node; `nobody` has those
   * of a process that wrote alone. Resolves, when that is committed, to how many were found; one that ended meanwhile
   * is among them. A slice at a time, between which the loop goes on. Throws when the store cannot be read.
   */
  async close(isGone: (member: MemberId) => boolean, atMs: number): Promise<number> {
    let closed = 0;
    for (const connection of ['sleep', 'signal'] as const) {
      let slice = this.#openSlice(connection);
      while (slice.length > 0) {
        const lost = slice.flatMap((key) => this.#lostOf(connection, key, isGone));
        for (const one of lost) this.#end(one, atMs);
        closed += lost.length;
        await (lost.length > 0 ? this.#journal.allCommitted() : nextTurn());
        slice = this.#openSlice(connection, slice.at(-1));
      }
    }
    return closed;
  }

  /** Keys of devices with an open session, behind `after`. */
  #openSlice(connection: ConnectionKind, after?: Buffer): Buffer[] {
    const start = after === undefined ? {} : { start: after, exclusiveStart: true };
    const { open } = this.#state.connections[connection];
    return Array.from(open.getKeys({ ...start, limit: lostSessionsSlice }));
  }

  #lostOf(connection: ConnectionKind, key: Buffer, isGone: (member: MemberId) => boolean): Lost[] {
    const deviceId = key.toString() as DeviceId;
    const shared = findSharedConnection(this.#state.connections[connection], deviceId);
    const gone = shared?.slots.filter(({ member }) => isGone(member)) ?? [];
    return gone.map((slot) => ({ connection, deviceId, slot }));
  }

  /** Of its heartbeats no more is known than the row has. */
  #end({ connection, deviceId, slot }: Lost, atMs: number): void {
    const { session, epoch } = slot;
    const node = slot.node === '' ? this.#node : slot.node;
    const end = { kind: 'ended', connection, session, epoch, atMs, node, reason: 'node_lost' } as const;
    const transition = {
      kind: 'connection',
      connection,
      deviceId,
      record: neverConnected,
      session: end,
    } as const;
    this.#journal.take(new LostEntry(transition, this.#journal.productOf(transition)), true);
  }
}

class LostEntry implements JournalEntry {
  readonly transition: ConnectionTransition;
  readonly productId: ProductId | null;
  waiter: Waiter | null = null;
  isHandedOver = false;

  constructor(transition: ConnectionTransition, productId: ProductId | null) {
    this.transition = transition;
    this.productId = productId;
  }

  put(): void {}

  settle(): void {}
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
