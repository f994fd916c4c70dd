/**
 * Changes that this member has committed in its own store and not yet brought to where all members see them: in the
 * order in which it happened, proof against `kill -9`. Only for members that share no store. Source: cluster.md,
 * Events.
 */
import type { Cancel } from '../../lib/clock.ts';
import type { ConnectionKind, MemberId, SharedCall } from '../../model/cluster.ts';
import type { EventDraft } from '../../model/events.ts';
import type { ApplicationId, DeviceId, EventId, ProductId, RequestId, SessionId } from '../../model/ids.ts';
import type { WakeupRecord } from '../../model/wakeup.ts';

/** An event with its id, given when it was committed here: told twice, it is known by it. */
export interface OutboxEvent {
  readonly id: EventId;
  readonly draft: EventDraft;
  readonly productId: ProductId | null;
}

/** A login or an end of a session of `member`; its event's epoch, and `replaced`, are only what was known here. */
export interface SessionItem {
  readonly kind: 'login' | 'ended';
  readonly connection: ConnectionKind;
  readonly deviceId: DeviceId;
  readonly session: SessionId;
  readonly member: MemberId;
  readonly node: string;
  /** Unix seconds of the session's latest heartbeat; 0: none. */
  readonly heartbeatAt: number;
  readonly event: OutboxEvent;
}

/** A wakeup's record, with the event that goes with it. */
export interface WakeupItem {
  readonly kind: 'wakeup';
  readonly deviceId: DeviceId;
  readonly appId: ApplicationId;
  readonly requestId: RequestId;
  readonly record: WakeupRecord;
  /** Events with its request id may be older than it. */
  readonly isFirst: boolean;
  readonly event: OutboxEvent | null;
}

/** All live calls of a device, with the event that goes with the change. */
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
  /** An event that changes no connection. */
  | { readonly kind: 'event'; readonly deviceId: DeviceId; readonly event: OutboxEvent };

export interface PlacedItem {
  /** Ascending, never reused. */
  readonly place: number;
  readonly item: OutboxItem;
}

export interface Outbox {
  /** What waits to be brought; what was found to be no item does not. */
  readonly length: number;
  /** Behind `after`, at most `limit`. Throws when the store cannot be read. */
  read(after: number, limit: number): readonly PlacedItem[];
  /** Called after every commit that put something. */
  follow(told: () => void): Cancel;
  /** They are where all see them. Resolves when that is committed; rejects when the store refuses, and may be asked again. */
  forget(places: readonly number[]): Promise<void>;
}
