/**
 * The stored records of connections, wakeups and calls. Writes are asynchronous: a write returns at once and is visible to reads at
 * once; `committed` resolves once it would survive `kill -9`.
 */
import type { ConnectionRecord } from '../../model/connectivity.ts';
import type { DeviceId, ApplicationId, RequestId } from '../../model/ids.ts';
import type { SessionTransition } from '../../model/state/session-event.ts';
import type { EventDraft } from '../../model/events.ts';
import type { KnownWakeup, WakeupName, WakeupRecord } from '../../model/wakeup.ts';
import type { CallSession } from '../../model/call.ts';

export interface ConnectionRecords {
  /** The newest record, committed or not; null: the device never logged in. Throws when the store cannot be read. */
  read(deviceId: DeviceId): ConnectionRecord | null;
  /** Ids with a record, from `first` to `last`, in order; all byte texts (`byteTextOf`). Throws when the store cannot be read. */
  ids(first: string, last: string): readonly string[];
  /**
   * Replaces the device's record, together with the event of `transition`: both or neither. Null: a heartbeat, without an event. A
   * failing write is retried until it succeeds; readiness reports it meanwhile.
   */
  write(deviceId: DeviceId, record: ConnectionRecord, transition: SessionTransition | null): void;
  /** Resolves once the device's last write is committed; null: nothing is outstanding. */
  committed(deviceId: DeviceId): Promise<void> | null;
  /** Resolves once all earlier writes are committed. */
  allCommitted(): Promise<void>;
}

/**
 * The wakeups of the last 24 hours that were answered 202 or 50402, by their own ids, so that their outcome can be queried after a
 * restart. Several may share one request id. Source: events.md, Reading.
 */
export interface WakeupRecords {
  /** Throws when the store cannot be read. */
  find(name: WakeupName): WakeupRecord | null;
  /** The latest wakeups with the request id, of all applications, latest first. Throws when the store cannot be read. */
  list(requestId: RequestId, deviceId: DeviceId | null, limit: number): readonly KnownWakeup[];
  /**
   * Replaces the record of the wakeup with that id and appends its event: both or neither. Kept for 24 h from `record.begunAtMs`;
   * visible to `find` at once, committed soon. `isFirst`: the wakeup has no record yet; absent: it may have one.
   */
  save(
    appId: ApplicationId,
    requestId: RequestId,
    record: WakeupRecord,
    event: EventDraft | null,
    isFirst?: true,
  ): void;
  /** Resolves once the newest record of this wakeup is committed, and hastens it; null: already committed. */
  committed(wakeup: KnownWakeup): Promise<void> | null;
  /** Wakeups whose outcome is still awaited, oldest first; read at a start. */
  awaited(): Iterable<KnownWakeup>;
  /** True: answer 42901; older records are never dropped to make room. */
  isFull(): boolean;
}

/** The live call sessions. All sessions of a device are one record, since one may end another in the same change. */
export interface CallRecords {
  /** The newest sessions, committed or not, in order of issue. Throws when the store cannot be read. */
  read(deviceId: DeviceId): readonly CallSession[];
  /** Replaces the device's record, together with `event`: both or neither. No sessions: the record is deleted. Never throws. */
  write(deviceId: DeviceId, sessions: readonly CallSession[], event: EventDraft | null): void;
  /** Resolves once the device's newest record is committed, and hastens it; null: already committed. */
  committed(deviceId: DeviceId): Promise<void> | null;
  /** All devices with live sessions; read at a start. Throws when the store cannot be read. */
  all(): Iterable<{ readonly deviceId: DeviceId; readonly sessions: readonly CallSession[] }>;
  /** True: the store is far behind, and no new session is issued. */
  isOverloaded(): boolean;
}
