/**
 * The kept records of connections, wakeups and calls. Writes are behind: a write returns at once, reads see it at once, and
 * `committed` tells when it would survive `kill -9`.
 */
import type { ConnectionRecord } from '../../model/connectivity.ts';
import type { DeviceId, ApplicationId, RequestId } from '../../model/ids.ts';
import type { SessionTransition } from '../../model/state/session-event.ts';
import type { EventDraft } from '../../model/events.ts';
import type { KnownWakeup, WakeupName, WakeupRecord } from '../../model/wakeup.ts';
import type { CallSession } from '../../model/call.ts';

/** Of one kind of connection, sleep or signal. */
export interface ConnectionRecords {
  /** The newest record written, committed or not; null when the device never logged in. Throws when the store cannot be read. */
  read(deviceId: DeviceId): ConnectionRecord | null;
  /** True: there is a record, committed or not. Throws when the store cannot be read. */
  has(deviceId: DeviceId): boolean;
  /**
   * Replaces the device's record; a login or an end is told with it, both or neither, and null saves a heartbeat. A
   * store that fails is retried until it takes it; readiness says so meanwhile.
   */
  write(deviceId: DeviceId, record: ConnectionRecord, transition: SessionTransition | null): void;
  /** Resolves when the last write for this device is committed; null when nothing is outstanding. */
  committed(deviceId: DeviceId): Promise<void> | null;
  /** Resolves when everything written before the call is committed. */
  allCommitted(): Promise<void>;
}

/**
 * The wakeups of the last 24 hours whose write was answered 202 or 50402, each by its own id, so that their outcome can be asked
 * for after a restart. Several may bear one request id. Source: events.md, Reading.
 */
export interface WakeupRecords {
  /** Throws when the store cannot be read. */
  find(name: WakeupName): WakeupRecord | null;
  /** The latest wakeups that bear the request id, of every application, the latest first. Throws when the store cannot be read. */
  list(requestId: RequestId, deviceId: DeviceId | null, limit: number): readonly KnownWakeup[];
  /**
   * Replaces the record of the wakeup of that id and puts the event that goes with it into the log, both or neither. Remembered for
   * 24 h from `record.begunAtMs`; visible to `find` at once, committed soon; nobody need wait for it.
   */
  save(appId: ApplicationId, requestId: RequestId, record: WakeupRecord, event: EventDraft | null): void;
  /** Resolves when the newest record of this wakeup is committed, and hastens it; null when it is. */
  committed(wakeup: KnownWakeup): Promise<void> | null;
  /** Those whose `isAwaited` is true, for a start: oldest first. */
  awaited(): Iterable<KnownWakeup>;
  /** No room for another: answer 42901, never forget an older one. */
  isFull(): boolean;
}

/** The live call sessions. A device's are one record: what one of them does to another is one change. */
export interface CallRecords {
  /** The newest ones, committed or not, in the order of their making; empty: none. Throws when the store cannot be read. */
  read(deviceId: DeviceId): readonly CallSession[];
  /** Behind everything written so far; `event` is committed with it, or neither is. No sessions: the record goes. Never throws. */
  write(deviceId: DeviceId, sessions: readonly CallSession[], event: EventDraft | null): void;
  /** Resolves when the newest record of the device is committed, and hastens it; null when it is. */
  committed(deviceId: DeviceId): Promise<void> | null;
  /** Every device that has live sessions, for a start. Throws when the store cannot be read. */
  all(): Iterable<{ readonly deviceId: DeviceId; readonly sessions: readonly CallSession[] }>;
  /** The store is far behind: no new session is begun. */
  isOverloaded(): boolean;
}
