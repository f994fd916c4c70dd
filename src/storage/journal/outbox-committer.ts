/**
 * Commits what one of several nodes hands over: into its own store, with an item in the outbox for all that others must
 * see. Events get their ids here, and no place in the log: that is given where all nodes write, and comes back from
 * there. Source: cluster.md, Events.
 */
import type { MemberId } from '../../model/cluster.ts';
import type { EventDraft, LoggedEvent } from '../../model/events.ts';
import { generateEventId, type ProductId } from '../../model/ids.ts';
import type { OutboxEvent, OutboxItem, PlacedItem } from '../../core/ports/outbox.ts';
import type { CommitEntry, Committer, Batch } from './committer.ts';
import type { Sight } from '../lmdb/environment.ts';
import type { OutboxStore } from './outbox-store.ts';
import { eventOf, type ConnectionTransition } from './transition.ts';

const noEvents: readonly LoggedEvent[] = [];

export class OutboxCommitter implements Committer {
  readonly #outbox: OutboxStore;
  readonly #batch: Batch;
  readonly #member: MemberId;
  /** Of the newest id: the wall clock may step back, ids do not. */
  #idMs = 0;
  #entries: readonly CommitEntry[] | null = null;
  /** Of `#entries`: a batch that is tried again keeps its places and its ids. */
  #placed: readonly PlacedItem[] = [];

  /** `member`: whose sessions these are. */
  constructor(outbox: OutboxStore, batch: Batch, member: MemberId) {
    this.#outbox = outbox;
    this.#batch = batch;
    this.#member = member;
  }

  async commit(
    entries: readonly CommitEntry[],
    seen: (events: readonly LoggedEvent[]) => void,
  ): Promise<readonly LoggedEvent[]> {
    const placed = this.#place(entries);
    let isTold = placed.length === 0;
    const notify = (): void => {
      if (isTold) return;
      isTold = true;
      this.#outbox.notify();
    };
    const write = (): void => {
      for (const entry of entries) entry.put();
      this.#outbox.put(placed);
    };
    await this.#batch(
      write,
      this.#sightOf(placed, () => {
        seen(noEvents);
        notify();
      }),
    );
    this.#entries = null;
    notify();
    return noEvents;
  }

  #place(entries: readonly CommitEntry[]): readonly PlacedItem[] {
    if (this.#entries === entries) return this.#placed;
    const placed: PlacedItem[] = [];
    for (const entry of entries) {
      const place = this.#outbox.nextPlace();
      const item = this.#itemOf(entry, place);
      if (item !== null) placed.push({ place, item });
    }
    this.#placed = placed;
    this.#entries = entries;
    return placed;
  }

  /** Nobody but who is told of items is in a hurry. */
  #sightOf(placed: readonly PlacedItem[], seen: () => void): Sight | null {
    const last = placed.at(-1);
    return last === undefined ? null : { isVisible: () => this.#outbox.isVisible(last.place), seen };
  }

  /** Null: nobody else has to know, a heartbeat was noted. */
  #itemOf({ transition, productId }: CommitEntry, place: number): OutboxItem | null {
    const draft = eventOf(transition);
    const event = draft === null ? null : this.#withId(draft, productId, place);
    switch (transition.kind) {
      case 'connection':
        return event === null ? null : this.#sessionItem(transition, event);
      case 'wakeup': {
        const { appId, requestId, record } = transition;
        return { kind: 'wakeup', deviceId: record.deviceId, appId, requestId, record, event };
      }
      case 'calls':
        return { kind: 'calls', deviceId: transition.deviceId, sessions: transition.sessions, event };
      case 'event':
        return event === null ? null : { kind: 'event', deviceId: event.draft.deviceId, event };
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
