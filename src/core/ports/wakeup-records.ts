/**
 * The wakeups of the last 24 hours whose write was answered 202 or 50402, by application and request id: so that a
 * repeat is answered like the first, and so that their outcome can be asked for, also after a restart.
 * Source: decisions.md, Repeats; events.md, Reading.
 */
import type { EventDraft } from '../../model/events.ts';
import type { ApplicationId, RequestId } from '../../model/ids.ts';
import type { WakeupRecord } from '../../model/wakeup.ts';

export interface KnownWakeup {
  readonly appId: ApplicationId;
  readonly requestId: RequestId;
  readonly record: WakeupRecord;
}

export interface WakeupRecords {
  /** Throws when the store cannot be read. */
  find(appId: ApplicationId, requestId: RequestId): WakeupRecord | null;
  /**
   * Replaces the wakeup's record and puts the event that goes with it into the log, both or neither. Remembered for
   * 24 h from `record.begunAtMs`; visible to `find` at once, committed soon; nobody need wait for it.
   */
  save(appId: ApplicationId, requestId: RequestId, record: WakeupRecord, event: EventDraft | null): void;
  /** Resolves when the newest record of this wakeup is committed, and hastens it; null when it is. */
  committed(appId: ApplicationId, requestId: RequestId): Promise<void> | null;
  /** Those whose `isAwaited` is true, for a start: oldest first. */
  awaited(): Iterable<KnownWakeup>;
  /** No room for another: answer 42901, never forget an older one. */
  isFull(): boolean;
}
