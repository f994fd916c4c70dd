/**
 * The kept records of one kind of connection (sleep or signal). Writes are behind: `write` returns at once,
 * `read` sees it at once, `committed` tells when it would survive `kill -9`.
 */
import type { ConnectionRecord } from '../../model/connectivity.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { SessionTransition } from '../../model/state/session-event.ts';

export interface ConnectionRecords {
  /** The newest record written, committed or not; null when the device never logged in. Throws when the store cannot be read. */
  read(deviceId: DeviceId): ConnectionRecord | null;
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
