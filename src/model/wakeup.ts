/** Types of a wakeup. Source: API doc, Endpoint 2; decisions.md, Wakeup. */
import type { FailureCode } from './codes.ts';
import type { ApplicationId, DeviceId, RequestId, SessionId, WakeupId } from './ids.ts';
import type { WakeCause } from './signal.ts';
import type { SignedRequest } from './signed-request.ts';
import type { CustomData } from './sleep.ts';

export interface WakeupRequest extends SignedRequest {
  readonly appId: ApplicationId;
  readonly deviceId: DeviceId;
  readonly customData: CustomData;
  /** The custom data as the caller wrote it, like `0x12aB`; null: none. */
  readonly customDataText: string | null;
  /** The effective one; it only identifies. */
  readonly requestId: RequestId;
}

/** Accepted: a sleep connection was found, and the kernel accepted the 8 bytes. */
export interface WakeupReceipt {
  readonly deviceId: DeviceId;
  readonly acceptedAtMs: number;
}

/** `unknown`: answered 50402, and no signal login followed. */
export type WakeupStatus = 'accepted' | 'unknown' | 'failed' | 'completed' | 'expired';

/** The stored record of a wakeup whose packet may have been sent. Source: events.md, Reading. */
export interface WakeupRecord {
  /** The greater id of two wakeups with one request id was answered later. */
  readonly id: WakeupId;
  readonly deviceId: DeviceId;
  readonly status: WakeupStatus;
  /** True: a login, a reset or time may still change its outcome. */
  readonly isAwaited: boolean;
  /** Wall milliseconds of the beginning of its write. */
  readonly begunAtMs: number;
  /** Wall milliseconds of the accepted write; null: answered 50402. */
  readonly acceptedAtMs: number | null;
  /** Wall milliseconds of the signal login that completed it, or of the acceptance if the device was online; null: not completed. */
  readonly completedAtMs: number | null;
  /** Milliseconds from the accepted write to the signal login; 0 if the device was online; null: not completed. */
  readonly wokeAfterMs: number | null;
  readonly alreadyOnline: boolean;
  readonly cause: WakeCause | null;
  /** Epoch of the sleep session that carried it. */
  readonly sleepEpoch: number;
  /** The 8 bytes in lowercase hex; null: the record of a repeat. */
  readonly packet: string | null;
  /** Present in the record of a repeat: the first request's id, under which the record with the same `id` has the outcome. */
  readonly repeatOf?: RequestId;
}

export interface RepeatMark {
  /** Present: the request repeats the one with this id. */
  readonly repeatOf?: RequestId | undefined;
}

/**
 * Request ids of repeats by which one wakeup's outcome can be found; each counts as a wakeup in `wakeup.known_max`. A repeat
 * beyond that is answered alike, but the outcome cannot be found by its id.
 */
export const wakeupAliasesMax = 8;

/** A wakeup as remembered for repeats of its request. */
export interface RepeatableWakeup {
  readonly requestId: RequestId;
  /** Null: its packet was certainly not sent, and it has no record. */
  readonly id: WakeupId | null;
  /** Request ids of repeats that have a record; at most `wakeupAliasesMax`. */
  readonly aliases: RequestId[];
}

/** A logged event about a woken device: a signal login, or the reset of a sleep session. `epoch` as backends see it. */
export type LoggedTurn =
  | { readonly kind: 'login'; readonly sessionId: SessionId; readonly atMs: number }
  | { readonly kind: 'reset'; readonly epoch: number; readonly atMs: number };

export interface WakeupName {
  readonly appId: ApplicationId;
  readonly requestId: RequestId;
  /** Selects among wakeups with the request id: this one; a device's latest; null: the latest of all. */
  readonly which: WakeupId | { readonly deviceId: DeviceId } | null;
}

export interface KnownWakeup {
  readonly appId: ApplicationId;
  readonly requestId: RequestId;
  readonly record: WakeupRecord;
}

/** Sorted by id; ids ascend with the time of the answer. */
export function latestFirst(wakeups: Iterable<KnownWakeup>): KnownWakeup[] {
  return [...wakeups].sort((one, other) => (one.record.id < other.record.id ? 1 : -1));
}

export interface RefusedWakeup {
  readonly atMs: number;
  readonly requestId: RequestId;
  /** Null: the text is not an application id. */
  readonly appId: ApplicationId | null;
  /** False: the application id is the request's unverified claim. */
  readonly isProven: boolean;
  /** Null: refused before its body was read. */
  readonly deviceId: DeviceId | null;
  readonly code: FailureCode;
  /** For people; at most `refusalReasonCharactersMax` characters. */
  readonly reason: string;
}

export interface WakeupsKnown {
  readonly wakeups: readonly KnownWakeup[];
  readonly refused: readonly RefusedWakeup[];
}
