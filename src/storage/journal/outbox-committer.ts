/**
 * Commits what one of several nodes hands over: into its own store, with an item in the outbox for all that others must
 * see. Events get their ids here, and no place in the log: that is given where all nodes write, and comes back from
 * there. Source: cluster.md, Events.
 */
import type { MemberId } from '../../model/cluster.ts';
import type { EventDraft, LoggedEvent } from '../../model/events.ts';
import { generateEventId, type SessionId } from '../../model/ids.ts';
import type { OutboxEvent, OutboxItem, PlacedItem } from '../../core/ports/outbox.ts';
import type { CommitEntry, Committer, EntryChange } from './committer.ts';
import type { Sight } from '../lmdb/environment.ts';
import type { Batch } from './local-committer.ts';
import type { OutboxStore } from './outbox-store.ts';

type ConnectionChange = Extract<EntryChange, { kind: 'connection' }>;

interface SessionTold {
  readonly kind: 'login' | 'ended';
  readonly session: SessionId;
  readonly node: string;
}

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
  #itemOf(entry: CommitEntry, place: number): OutboxItem | null {
    const change = entry.change();
    const event = this.#eventOf(entry, place);
    switch (change.kind) {
      case 'connection':
        return event === null ? null : this.#sessionItem(change, event);
      case 'wakeup': {
        const { appId, requestId, record } = change;
        return { kind: 'wakeup', deviceId: record.deviceId, appId, requestId, record, event };
      }
      case 'calls':
        return { kind: 'calls', deviceId: change.deviceId, sessions: change.sessions, event };
      case 'none':
        return event === null ? null : { kind: 'event', deviceId: event.draft.deviceId, event };
    }
  }

  #sessionItem({ connection, deviceId, record }: ConnectionChange, event: OutboxEvent): OutboxItem {
    const told = sessionTold(event.draft);
    if (told === null) return { kind: 'event', deviceId, event };
    const { lastHeartbeatAt, lastLoginAt } = record;
    // Before its login it was another session's.
    const heartbeatAt = (lastHeartbeatAt ?? 0) < (lastLoginAt ?? 0) ? 0 : (lastHeartbeatAt ?? 0);
    return { ...told, connection, deviceId, member: this.#member, heartbeatAt, event };
  }

  /** Ids of two nodes differ by what is random in them, even in one millisecond and at one place. */
  #eventOf({ event, productId }: CommitEntry, place: number): OutboxEvent | null {
    if (event === null) return null;
    this.#idMs = Math.max(this.#idMs, Math.floor(event.atMs));
    return { id: generateEventId(this.#idMs, place), draft: event, productId };
  }
}

/** Null: the event speaks of no session. */
function sessionTold(draft: EventDraft): SessionTold | null {
  switch (draft.type) {
    case 'device.signal.online':
    case 'device.sleep.login':
      return { kind: 'login', session: draft.data.session, node: draft.data.node };
    case 'device.signal.offline':
    case 'device.sleep.offline':
      return { kind: 'ended', session: draft.data.session, node: draft.data.node };
    default:
      return null;
  }
}
