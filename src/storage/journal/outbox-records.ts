/**
 * Record store of a cluster node: its own rows, and an outbox item for each change that other members must see. The shared log
 * orders sessions and places events; event ids are generated here. Source: cluster.md, Events.
 */
import type { MemberId } from '../../model/cluster.ts';
import type { EventDraft } from '../../model/events.ts';
import { generateEventId, type ProductId } from '../../model/ids.ts';
import type { OutboxEvent, OutboxItem, PlacedItem } from '../../core/ports/outbox.ts';
import type { CommitEntry, OnVisible, RecordStore, WrittenBatch } from './committer.ts';
import type { OutboxStore } from './outbox-store.ts';
import { eventOf, type ConnectionTransition } from './transition.ts';

export class OutboxRecords implements RecordStore {
  readonly #outbox: OutboxStore;
  readonly #member: MemberId;
  /** Milliseconds in the newest event id: ids never decrease, though the wall clock may step back. */
  #idMs = 0;

  constructor(outbox: OutboxStore, member: MemberId) {
    this.#outbox = outbox;
    this.#member = member;
  }

  write(entries: readonly CommitEntry[]): WrittenBatch {
    const placed = this.#place(entries);
    for (const entry of entries) entry.put();
    this.#outbox.put(placed);
    const last = placed.at(-1);
    // Not literals in the object: V8 allocates those in old memory, where they keep the batch until a full collection.
    const isVisible = (): boolean => last !== undefined && this.#outbox.isVisible(last);
    const notify = (onVisible: OnVisible): void => {
      onVisible([]);
      if (last !== undefined) this.#outbox.notify();
    };
    return { isVisible, notify };
  }

  #place(entries: readonly CommitEntry[]): readonly PlacedItem[] {
    const placed: PlacedItem[] = [];
    let place = this.#outbox.lastPlace;
    for (const entry of entries) {
      const item = this.#itemOf(entry, place + 1);
      if (item !== null) placed.push({ place: ++place, item });
    }
    return placed;
  }

  /** Null: no other member needs the change, for example a saved heartbeat. */
  #itemOf({ transition, productId }: CommitEntry, place: number): OutboxItem | null {
    const draft = eventOf(transition);
    const event = draft === null ? null : this.#withId(draft, productId, place);
    switch (transition.kind) {
      case 'connection':
        return event === null ? null : this.#sessionItem(transition, event);
      case 'wakeup': {
        const { appId, requestId, record, isFirst } = transition;
        return { kind: 'wakeup', deviceId: record.deviceId, appId, requestId, record, isFirst, event };
      }
      case 'registry':
      case 'events':
        return event === null ? null : { kind: 'event', deviceId: event.draft.deviceId, event };
      case 'calls': {
        const calls = transition.sessions.map(({ sessionId, state }) => ({ sessionId, state }));
        return { kind: 'calls', deviceId: transition.deviceId, calls, event };
      }
    }
  }

  #sessionItem(transition: ConnectionTransition, event: OutboxEvent): OutboxItem | null {
    const { connection, deviceId, record } = transition;
    if (transition.session === null) return null;
    const { kind, session, node } = transition.session;
    const { lastHeartbeatAt, lastLoginAt } = record;
    // A heartbeat before the login belongs to an earlier session.
    const heartbeatAt = (lastHeartbeatAt ?? 0) < (lastLoginAt ?? 0) ? 0 : (lastHeartbeatAt ?? 0);
    return { kind, connection, deviceId, session, member: this.#member, node, heartbeatAt, event };
  }

  /** Random bits keep the ids of two nodes distinct, even in one millisecond and at one place. */
  #withId(draft: EventDraft, productId: ProductId | null, place: number): OutboxEvent {
    this.#idMs = Math.max(this.#idMs, Math.floor(draft.atMs));
    return { id: generateEventId(this.#idMs, place), draft, productId };
  }
}
