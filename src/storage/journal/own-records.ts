/**
 * The records of a server that is no node, and its event log. A batch is decided entry by entry against the rows in its
 * transaction: a session that a crash left open may have been ended there since its device was read (lost-sessions.ts), so
 * that a later login replaces nothing, or its late end is not told. Source: decisions.md, Durable.
 */
import { connectionKinds } from '../../model/cluster.ts';
import type { ConnectionRecord } from '../../model/connectivity.ts';
import type { EventDraft } from '../../model/events.ts';
import type { DeviceId } from '../../model/ids.ts';
import { sessionEvent } from '../../model/state/session-event.ts';
import { EventWriter, type Happened } from '../events/event-writer.ts';
import type { StateTables } from '../lmdb/state-tables.ts';
import { findConnectionRecord, putConnectionRecord } from '../records/connection-rows.ts';
import type { CommitEntry, RecordStore, WrittenBatch } from './committer.ts';
import { eventOf, type ConnectionTransition } from './transition.ts';

export class OwnRecords implements RecordStore {
  readonly #state: StateTables;
  readonly #events: EventWriter;

  constructor(state: StateTables) {
    this.#state = state;
    this.#events = new EventWriter(state);
  }

  write(entries: readonly CommitEntry[]): WrittenBatch {
    const events = this.#events;
    const batch = new DecidedBatch(this.#state, entries);
    const placed = events.place(batch.happened);
    batch.put();
    events.put(placed);
    return {
      isVisible: () => events.isVisible(placed),
      tell: (seen) => seen(placed.events),
    };
  }
}

interface Row {
  readonly wasOpen: boolean;
  /** Null: the device has never logged in. */
  now: ConnectionRecord | null;
}

class DecidedBatch {
  /** Events that are to be placed, in their order. */
  readonly happened: Happened[] = [];
  readonly #state: StateTables;
  readonly #rows = { sleep: new Map<DeviceId, Row>(), signal: new Map<DeviceId, Row>() };
  readonly #others: CommitEntry[] = [];

  /** Inside a transaction only. Throws when the store cannot be read, and has put nothing. */
  constructor(state: StateTables, entries: readonly CommitEntry[]) {
    this.#state = state;
    for (const entry of entries) this.#decide(entry);
  }

  /** Inside the same transaction. */
  put(): void {
    for (const kind of connectionKinds)
      for (const [deviceId, { now, wasOpen }] of this.#rows[kind])
        if (now !== null) putConnectionRecord(this.#state.connections[kind], deviceId, now, wasOpen);
    for (const entry of this.#others) entry.put();
  }

  #decide(entry: CommitEntry): void {
    const { transition, productId } = entry;
    if (transition.kind !== 'connection') this.#others.push(entry);
    const event = transition.kind === 'connection' ? this.#apply(transition) : eventOf(transition);
    if (event !== null) this.happened.push({ event, productId });
  }

  /** Null: there is no event. */
  #apply({ connection, deviceId, record, session }: ConnectionTransition): EventDraft | null {
    const row = this.#rowOf(connection, deviceId);
    const { epoch = 0, openSession = null } = row.now ?? {};
    if (session?.kind === 'login') {
      row.now = { ...record, epoch: session.epoch, openSession: session.session };
      return sessionEvent(deviceId, { ...session, replaced: openSession !== null });
    }
    if (session !== null && session.session !== openSession) return null;
    row.now = { ...record, epoch, openSession: session === null ? openSession : null };
    return session && sessionEvent(deviceId, session);
  }

  #rowOf(connection: ConnectionTransition['connection'], deviceId: DeviceId): Row {
    const known = this.#rows[connection].get(deviceId);
    if (known !== undefined) return known;
    const now = findConnectionRecord(this.#state.connections[connection], deviceId);
    const row = { now, wasOpen: now !== null && now.openSession !== null };
    this.#rows[connection].set(deviceId, row);
    return row;
  }
}
