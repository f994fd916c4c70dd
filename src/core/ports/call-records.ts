/**
 * The store of live call sessions. A device's sessions are one record: what one of them does to another is one change.
 */
import type { CallSession } from '../../model/call.ts';
import type { EventDraft } from '../../model/events.ts';
import type { DeviceId } from '../../model/ids.ts';

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
