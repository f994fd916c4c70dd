/** A wakeup as the server speaks of it. Source: API doc, Endpoint 2; decisions.md, Wakeup and Repeats. */
import type { MemberId } from './cluster.ts';
import type { ApplicationId, DeviceId, RequestId } from './ids.ts';
import type { WakeCause } from './signal.ts';
import type { SignedRequest } from './signed-request.ts';
import type { CustomData } from './sleep.ts';

export interface WakeupRequest extends SignedRequest {
  readonly appId: ApplicationId;
  readonly deviceId: DeviceId;
  readonly customData: CustomData;
  /** The same as the caller wrote it, like `0x12aB`; null: none was asked for. */
  readonly customDataText: string | null;
  /** The effective one. */
  readonly requestId: RequestId;
  /** True: it is the caller's own X-Request-ID; false: the server made it, and a made one never repeats. */
  readonly isCallersId: boolean;
  /** Lowercase hex SHA-256 of the request body. */
  readonly bodySha256: string;
}

/** Accepted: a sleep connection was found and the kernel has the 8 bytes. */
export interface WakeupReceipt {
  readonly deviceId: DeviceId;
  /** Wall milliseconds. */
  readonly acceptedAtMs: number;
}

/** `unknown`: it was answered 50402, and no signal login came. */
export type WakeupStatus = 'accepted' | 'unknown' | 'failed' | 'completed' | 'expired';

/** What is kept of a wakeup whose packet may have gone out. Source: events.md, Reading. */
export interface WakeupRecord {
  readonly deviceId: DeviceId;
  readonly status: WakeupStatus;
  /** True: its outcome may still change by a login, a reset or time. */
  readonly isAwaited: boolean;
  /** Wall milliseconds at which its write began. */
  readonly begunAtMs: number;
  /** Wall milliseconds of the accepted write; null: it was answered 50402. */
  readonly acceptedAtMs: number | null;
  /** Wall milliseconds of the signal login that completed it, or of the acceptance if the device was online; null: not completed. */
  readonly completedAtMs: number | null;
  /** From the accepted write to the signal login; 0 if the device was online; null: not completed. */
  readonly wokeAfterMs: number | null;
  /** The device's signal was online when it was woken. */
  readonly alreadyOnline: boolean;
  /** What the device reported; null: nothing. */
  readonly cause: WakeCause | null;
  /** Of the sleep session that carried it. */
  readonly sleepEpoch: number;
  /** True: the request id is the caller's own X-Request-ID, and a repeat of it is answered from here. */
  readonly isCallersId: boolean;
  /** Lowercase hex SHA-256 of the request body. */
  readonly bodySha256: string;
  /** Who had its packet written, and saves its outcome unless it is gone; null: there is one process, or was when it was begun. */
  readonly watcher: MemberId | null;
}
