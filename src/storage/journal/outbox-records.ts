/**
 * The records of one of several nodes: rows of its own, with an item in the outbox for all that others must see, whose
 * sessions are decided and whose events are placed where all nodes write. Events get their ids here, and come back from
 * there. Source: cluster.md, Events.
 */
import type { MemberId } from '../../model/cluster.ts';
import type { EventDraft } from '../../model/events.ts';
import { generateEventId, type ProductId } from '../../model/ids.ts';
import type { OutboxEvent, OutboxItem, PlacedItem } from '../../core/ports/outbox.ts';
import type { CommitEntry, RecordStore, WrittenBatch } from './committer.ts';
import type { OutboxStore } from './outbox-store.ts';
import { eventOf, type ConnectionTransition } from './transition.ts';

export class OutboxRecords implements RecordStore {
  /** The rows are its own: nobody else has any. */
  readonly #outbox: OutboxStore;
  readonly #member: MemberId;
  /** Of the newest id: the wall clock may step back, ids do not. */
  #idMs = 0;

  /** `member`: whose sessions these are. */
  constructor(outbox: OutboxStore, member: MemberId) {
    this.#outbox = outbox;
    this.#member = member;
  }

  write(entries: readonly CommitEntry[]): WrittenBatch {
    const placed = this.#place(entries);
    for (const entry of entries) entry.put();
    this.#outbox.put(placed);
    const last = placed.at(-1);
    return {
      isVisible: () => last !== undefined && this.#outbox.isVisible(last),
      tell: (seen) => {
        seen([]);
        if (last !== undefined) this.#outbox.notify();
      },
    };
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

  /** Null: nobody else has to know, a heartbeat was noted. */
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
    // Before its login it was another session's.
    const heartbeatAt = (lastHeartbeatAt ?? 0) < (lastLoginAt ?? 0) ? 0 : (lastHeartbeatAt ?? 0);
    return { kind, connection, deviceId, session, member: this.#member, node, heartbeatAt, event };
  }

  /** Ids of two nodes differ by what is random in them, even in one millisecond and at one place. */
  #withId(draft: EventDraft, productId: ProductId | null, place: number): OutboxEvent {
    this.#idMs = Math.max(this.#idMs, Math.floor(draft.atMs));
    return { id: generateEventId(this.#idMs, place), draft, productId };
  }
}
