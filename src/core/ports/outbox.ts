/**
 * Changes that are committed in this member's store and not yet published to all members, in order; they survive `kill -9`. Only
 * for members that share no store. Source: cluster.md, Events.
 */
import type { Cancel } from '../../lib/clock.ts';
import type { MemberId, SessionName, SharedCall } from '../../model/cluster.ts';
import type { EventDraft } from '../../model/events.ts';
import type { DeviceId, EventId, ProductId } from '../../model/ids.ts';
import type { KnownWakeup } from '../../model/wakeup.ts';

/** An event with the id that it got at its commit here: duplicates are recognised by it. */
export interface OutboxEvent {
  readonly id: EventId;
  readonly draft: EventDraft;
  readonly productId: ProductId | null;
}

/** A login or end of a session of `member`. The event's epoch and `replaced` are only what this member knew. */
export interface SessionItem extends SessionName {
  readonly kind: 'login' | 'ended';
  readonly member: MemberId;
  readonly node: string;
  /** Unix seconds of the session's latest heartbeat; 0: none. */
  readonly heartbeatAt: number;
  readonly event: OutboxEvent;
}

export interface WakeupItem extends KnownWakeup {
  readonly kind: 'wakeup';
  readonly deviceId: DeviceId;
  /** True: the first record of this wakeup; the index by request id is then updated. */
  readonly isFirst: boolean;
  readonly event: OutboxEvent | null;
}

export interface CallsItem {
  readonly kind: 'calls';
  readonly deviceId: DeviceId;
  readonly calls: readonly SharedCall[];
  readonly event: OutboxEvent | null;
}

export type OutboxItem =
  | SessionItem
  | WakeupItem
  | CallsItem
  | { readonly kind: 'event'; readonly deviceId: DeviceId; readonly event: OutboxEvent };

export interface PlacedItem {
  /** Ascending, never reused. */
  readonly place: number;
  readonly item: OutboxItem;
}

export interface Outbox {
  /** Number of unpublished items; entries found to be invalid are not counted. */
  readonly length: number;
  /** Items after `after`, at most `limit`. Throws when the store cannot be read. */
  read(after: number, limit: number): readonly PlacedItem[];
  /** Calls `listener` after each commit that adds items. */
  follow(listener: () => void): Cancel;
  /** Deletes items that are published. Resolves once committed; rejects when the store refuses; may be retried. */
  forget(places: readonly number[]): Promise<void>;
}
