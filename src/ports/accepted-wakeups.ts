/**
 * The wakeups answered 202 in the last 24 hours that carried a caller's own X-Request-ID, so that a repeat is
 * answered like the first, also after a restart. Source: decisions.md, Repeats.
 */
import type { ApplicationId, DeviceId, RequestId } from '../domain/ids.ts';

export interface AcceptedWakeup {
  readonly deviceId: DeviceId;
  /** Wall milliseconds of the accepted write. */
  readonly acceptedAtMs: number;
  /** Lowercase hex SHA-256 of the request body. */
  readonly bodySha256: string;
}

export interface AcceptedWakeups {
  /** Throws when the store cannot be read. */
  find(appId: ApplicationId, requestId: RequestId): AcceptedWakeup | null;
  /** Remembered for 24 h; visible to `find` at once, committed soon; nobody waits for it. */
  add(appId: ApplicationId, requestId: RequestId, wakeup: AcceptedWakeup): void;
  /** No room for another: answer 42901, never forget an older one. */
  isFull(): boolean;
}
