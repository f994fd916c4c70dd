/**
 * The records of a store that all members of one node write: one process alone, or several. A batch is decided entry by entry
 * against the rows as they are in its transaction, which is the compare-and-set, and put when all of it is decided; events
 * get their places in the log behind those of the others. A connection has one slot whatever its kind, and a login takes
 * it from the session that has it. Source: cluster.md, Several processes on one machine.
 */
import { assert } from '../../lib/assert.ts';
import {
  reduceShared,
  neverShared,
  type SharedEvent,
  type SharedOutcome,
} from '../../model/state/shared-connection.ts';
import {
  connectionKinds,
  type ConnectionKind,
  type MemberId,
  type SharedConnection,
} from '../../model/cluster.ts';
import type { EventDraft, LoggedEvent } from '../../model/events.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import { sessionEvent, type SessionEnd, type SessionLogin } from '../../model/state/session-event.ts';
import type { SlotFollower, SlotLost, SlotClaimed } from '../../core/ports/session-locator.ts';
import type { CommitEntry, RecordStore, WrittenBatch } from './committer.ts';
import { eventOf, type ConnectionTransition } from './transition.ts';
import { findSharedConnection, onlyMember, putSharedConnection } from '../records/connection-rows.ts';
import { EventWriter, type Happened } from '../events/event-writer.ts';
import type { StateTables } from '../lmdb/state-tables.ts';

/** The member that writes, as the others know it. */
export interface SharedWriter {
  readonly member: MemberId;
  /** The name that events tell. */
  readonly node: string;
  /** It has put these into the log: the others are to be told. Must not throw. */
  readonly grew: (events: readonly LoggedEvent[]) => void;
}

export class SharedRecords implements RecordStore {
  readonly #state: StateTables;
  readonly #writer: SharedWriter;
  readonly #events: EventWriter;
  #slots: SlotFollower = { taken: () => undefined, lost: () => undefined };

  constructor(state: StateTables, writer: SharedWriter) {
    this.#state = state;
    this.#writer = writer;
    this.#events = new EventWriter(state);
  }

  get member(): MemberId {
    return this.#writer.member;
  }

  /** Told what became of this member's sessions, before anybody else. One at most. */
  follow(slots: SlotFollower): void {
    this.#slots = slots;
  }

  write(entries: readonly CommitEntry[]): WrittenBatch {
    const events = this.#events;
    const batch = new SharedBatch(this.#state, this.#writer, entries);
    const placed = events.place(batch.happened);
    batch.put();
    events.put(placed);
    return {
      isVisible: () => events.isVisible(placed),
      tell: (seen) => {
        for (const { kind, slot } of batch.news)
          if (kind === 'taken') this.#slots.taken(slot);
          else this.#slots.lost(slot);
        seen(placed.events);
        if (placed.events.length > 0) this.#writer.grew(placed.events);
      },
    };
  }
}

type SlotNews =
  { readonly kind: 'taken'; readonly slot: SlotClaimed } | { readonly kind: 'lost'; readonly slot: SlotLost };

interface Row {
  readonly wasOpen: boolean;
  readonly before: SharedConnection;
  now: SharedConnection;
}

class SharedBatch {
  /** Events that are to be placed, in their order. */
  readonly happened: Happened[] = [];
  /** For the follower of slots, in its order. */
  readonly news: SlotNews[] = [];
  readonly #state: StateTables;
  readonly #writer: SharedWriter;
  readonly #rows = { sleep: new Map<DeviceId, Row>(), signal: new Map<DeviceId, Row>() };
  readonly #others: CommitEntry[] = [];

  /** Inside a transaction only. Throws when the store cannot be read, and has put nothing. */
  constructor(state: StateTables, writer: SharedWriter, entries: readonly CommitEntry[]) {
    this.#state = state;
    this.#writer = writer;
    for (const entry of entries) this.#take(entry);
  }

  /** Inside the same transaction. */
  put(): void {
    for (const kind of connectionKinds)
      for (const [deviceId, { before, now, wasOpen }] of this.#rows[kind])
        if (now !== before) putSharedConnection(this.#state.connections[kind], deviceId, now, wasOpen);
    for (const entry of this.#others) entry.put();
  }

  #take(entry: CommitEntry): void {
    const { transition, productId } = entry;
    if (transition.kind !== 'connection') this.#others.push(entry);
    const event = transition.kind === 'connection' ? this.#settle(transition) : eventOf(transition);
    if (event !== null) this.happened.push({ event, productId });
    // All there is to know of a device is known here: its times are those of the wall clock, which may step back.
    if (transition.kind === 'connection' && this.#writer.member === onlyMember) this.#keepTimes(transition);
  }

  /** What is to be told of it, by the epoch that all know; null: nothing. */
  #settle({ connection, deviceId, record, session }: ConnectionTransition): EventDraft | null {
    const heartbeatAt = record.lastHeartbeatAt ?? 0;
    switch (session?.kind) {
      case 'login':
        return this.#login(connection, deviceId, heartbeatAt, session);
      case 'ended':
        return this.#end(connection, deviceId, heartbeatAt, session);
      case undefined:
        this.#hear(connection, deviceId, heartbeatAt, record.openSession);
        return null;
    }
  }

  #login(
    connection: ConnectionKind,
    deviceId: DeviceId,
    heartbeatAt: number,
    login: SessionLogin,
  ): EventDraft | null {
    const { member, node } = this.#writer;
    const { session, atMs } = login;
    const outcome = this.#apply(connection, deviceId, {
      kind: 'login',
      member,
      node,
      session,
      atMs,
      isLate: false,
    });
    assert(outcome.kind === 'claimed', 'a login that is not late takes its slot');
    // What the session before it had heard, which nobody tells again.
    this.#apply(connection, deviceId, { kind: 'heard', session, heartbeatAt });
    const { slot, isNew, superseded } = outcome;
    const times = this.#rowOf(connection, deviceId).now;
    const { epoch } = slot;
    this.news.push({ kind: 'taken', slot: { connection, deviceId, session, epoch, times, superseded } });
    return isNew ? sessionEvent(deviceId, { ...login, epoch, replaced: superseded.length > 0 }) : null;
  }

  #end(
    connection: ConnectionKind,
    deviceId: DeviceId,
    heartbeatAt: number,
    end: SessionEnd,
  ): EventDraft | null {
    const { session, atMs } = end;
    const outcome = this.#apply(connection, deviceId, { kind: 'ended', session, atMs, heartbeatAt });
    return outcome.kind === 'left' ? sessionEvent(deviceId, { ...end, epoch: outcome.slot.epoch }) : null;
  }

  /** A session that has lost its slot has not been notified of it yet, or missed it. */
  #hear(
    connection: ConnectionKind,
    deviceId: DeviceId,
    heartbeatAt: number,
    session: SessionId | null,
  ): void {
    if (session === null) return;
    this.#apply(connection, deviceId, { kind: 'heard', session, heartbeatAt });
    const { slots } = this.#rowOf(connection, deviceId).now;
    if (!slots.some((slot) => slot.session === session))
      this.news.push({ kind: 'lost', slot: { connection, deviceId, session } });
  }

  #keepTimes({ connection, deviceId, record }: ConnectionTransition): void {
    const row = this.#rowOf(connection, deviceId);
    const { lastLoginAt, lastHeartbeatAt, lastOfflineAt } = record;
    row.now = { ...row.now, lastLoginAt, lastHeartbeatAt, lastOfflineAt };
  }

  #apply(connection: ConnectionKind, deviceId: DeviceId, event: SharedEvent): SharedOutcome {
    const row = this.#rowOf(connection, deviceId);
    // By the rules of signal, which has one slot.
    const step = reduceShared('signal', row.now, event);
    row.now = step.row;
    return step.outcome;
  }

  #rowOf(connection: ConnectionKind, deviceId: DeviceId): Row {
    const known = this.#rows[connection].get(deviceId);
    if (known !== undefined) return known;
    const before = findSharedConnection(this.#state.connections[connection], deviceId) ?? neverShared;
    const row = { before, now: before, wasOpen: before.slots.length > 0 };
    this.#rows[connection].set(deviceId, row);
    return row;
  }
}
