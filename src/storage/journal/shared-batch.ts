/**
 * What becomes of one batch in a store that several processes write: decided entry by entry against the rows as they
 * are in the transaction, and put when all of it is decided. The processes are of one node, so a connection has one
 * seat whatever its kind, and a login takes it from whoever has it. Source: cluster.md, Several processes on one machine.
 */
import { assert } from '../../lib/assert.ts';
import {
  reduceShared,
  neverShared,
  type SharedEvent,
  type SharedOutcome,
} from '../../model/state/shared-connection.ts';
import type { ConnectionKind, MemberId, SharedConnection } from '../../model/cluster.ts';
import type { EventDraft } from '../../model/events.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { SlotLost, SlotClaimed } from '../../core/ports/slot-follower.ts';
import type { CommitEntry, EntryChange } from './committer.ts';
import { findSharedConnection, putSharedConnection } from '../records/connection-rows.ts';
import type { Happened } from '../events/event-writer.ts';
import type { StateTables } from '../lmdb/state-tables.ts';

/** Who writes, as the others know it. */
export interface SharedWriter {
  readonly member: MemberId;
  /** The name that events tell. */
  readonly node: string;
}

export type SlotNews =
  { readonly kind: 'taken'; readonly slot: SlotClaimed } | { readonly kind: 'lost'; readonly slot: SlotLost };

type ConnectionChange = Extract<EntryChange, { kind: 'connection' }>;
type LoginEvent = Extract<EventDraft, { type: 'device.sleep.login' | 'device.signal.online' }>;
type EndEvent = Extract<EventDraft, { type: 'device.sleep.offline' | 'device.signal.offline' }>;

interface Row {
  readonly wasOpen: boolean;
  readonly before: SharedConnection;
  now: SharedConnection;
}

export class SharedBatch {
  /** Events that are to be placed, in their order. */
  readonly happened: Happened[] = [];
  /** For who follows seats, in its order. */
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
    for (const kind of ['sleep', 'signal'] as const)
      for (const [deviceId, { before, now, wasOpen }] of this.#rows[kind])
        if (now !== before) putSharedConnection(this.#state.connections[kind], deviceId, now, wasOpen);
    for (const entry of this.#others) entry.put();
  }

  #take(entry: CommitEntry): void {
    const change = entry.change();
    if (change.kind !== 'connection') this.#others.push(entry);
    const event = change.kind === 'connection' ? this.#settle(change, entry.event) : entry.event;
    if (event !== null) this.happened.push({ event, productId: entry.productId });
  }

  /** What is to be told of it; null: nothing. */
  #settle(change: ConnectionChange, event: EventDraft | null): EventDraft | null {
    switch (event?.type) {
      case 'device.sleep.login':
      case 'device.signal.online':
        return this.#login(change, event);
      case 'device.sleep.offline':
      case 'device.signal.offline':
        return this.#end(change, event);
      default:
        assert(event === null, 'what changes a connection is a login or an end');
        return this.#hear(change);
    }
  }

  #login({ connection, deviceId, record }: ConnectionChange, event: LoginEvent): EventDraft | null {
    const { member, node } = this.#writer;
    const { session } = event.data;
    const login = { kind: 'login', member, node, session, atMs: event.atMs, isLate: false } as const;
    const outcome = this.#apply(connection, deviceId, login);
    assert(outcome.kind === 'claimed', 'a login that is not late takes its seat');
    // What the session before it had heard, which nobody tells again.
    this.#apply(connection, deviceId, { kind: 'heard', session, heartbeatAt: record.lastHeartbeatAt ?? 0 });
    const { slot, isNew, superseded } = outcome;
    const times = this.#rowOf(connection, deviceId).now;
    const { epoch } = slot;
    this.news.push({ kind: 'taken', slot: { connection, deviceId, session, epoch, times, superseded } });
    return isNew ? { ...event, epoch, data: { ...event.data, replaced: superseded.length > 0 } } : null;
  }

  #end({ connection, deviceId, record }: ConnectionChange, event: EndEvent): EventDraft | null {
    const { session } = event.data;
    const heartbeatAt = record.lastHeartbeatAt ?? 0;
    const ended = { kind: 'ended', session, atMs: event.atMs, heartbeatAt } as const;
    const outcome = this.#apply(connection, deviceId, ended);
    return outcome.kind === 'left' ? { ...event, epoch: outcome.slot.epoch } : null;
  }

  /** A session that has no seat any more has not yet been told so, or missed it. */
  #hear({ connection, deviceId, record }: ConnectionChange): null {
    const { openSession: session, lastHeartbeatAt } = record;
    if (session === null) return null;
    this.#apply(connection, deviceId, { kind: 'heard', session, heartbeatAt: lastHeartbeatAt ?? 0 });
    const { slots } = this.#rowOf(connection, deviceId).now;
    if (!slots.some((slot) => slot.session === session))
      this.news.push({ kind: 'lost', slot: { connection, deviceId, session } });
    return null;
  }

  #apply(connection: ConnectionKind, deviceId: DeviceId, event: SharedEvent): SharedOutcome {
    const row = this.#rowOf(connection, deviceId);
    // By the rules of signal, whose seat is one.
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
