/**
 * How the journal brings a batch to where it survives, and what a batch is made of. Alone, a store is written by one
 * process (`LocalCommitter`); others have to agree with those who write beside them. Source: cluster.md.
 */
import type { CallSession } from '../../model/call.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import type { ConnectionRecord } from '../../model/connectivity.ts';
import type { EventDraft, LoggedEvent } from '../../model/events.ts';
import type { ApplicationId, DeviceId, ProductId, RequestId } from '../../model/ids.ts';
import type { WakeupRecord } from '../../model/wakeup.ts';

/**
 * What an entry says of the state. Of a connection, its event tells what happened: a login, an end, or, with no event,
 * that a heartbeat was noted.
 */
export type EntryChange =
  | {
      readonly kind: 'connection';
      readonly connection: ConnectionKind;
      readonly deviceId: DeviceId;
      readonly record: ConnectionRecord;
    }
  | {
      readonly kind: 'wakeup';
      readonly appId: ApplicationId;
      readonly requestId: RequestId;
      readonly record: WakeupRecord;
    }
  | { readonly kind: 'calls'; readonly deviceId: DeviceId; readonly sessions: readonly CallSession[] }
  /** There is an event, and no more. */
  | { readonly kind: 'none' };

/** One write, as a committer sees it: handed over, so that what it says is fixed. */
export interface CommitEntry {
  readonly event: EventDraft | null;
  /** What the event's device was of when it happened; null: nothing, or there is no event. */
  readonly productId: ProductId | null;
  /** What `put` writes, for who has to know. Never throws. */
  change(): EntryChange;
  /** Puts what the entry says of the state, without its event. Inside a batch. Never throws. */
  put(): void;
}

export interface Committer {
  /**
   * All or nothing, in the order given: rejects when none of it is there, and is then handed the same array again,
   * unless `seen` was told. One call at a time. `seen` is told at most once and before the promise resolves, when what
   * was put is visible and proof against `kill -9`, though the disk may not have it; it may be left out. Both give the
   * events as they stand in the log.
   */
  commit(
    entries: readonly CommitEntry[],
    seen: (events: readonly LoggedEvent[]) => void,
  ): Promise<readonly LoggedEvent[]>;
}
