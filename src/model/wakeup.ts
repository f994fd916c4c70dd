/** A wakeup as the server speaks of it. Source: API doc, Endpoint 2; decisions.md, Wakeup. */
import type { FailureCode } from './codes.ts';
import type { ApplicationId, DeviceId, RequestId, SessionId, WakeupId } from './ids.ts';
import type { WakeCause } from './signal.ts';
import type { SignedRequest } from './signed-request.ts';
import type { CustomData } from './sleep.ts';

export interface WakeupRequest extends SignedRequest {
  readonly appId: ApplicationId;
  readonly deviceId: DeviceId;
  readonly customData: CustomData;
  /** The same as the caller wrote it, like `0x12aB`; null: none was asked for. */
  readonly customDataText: string | null;
  /** The effective one: an identifier, and nothing more. */
  readonly requestId: RequestId;
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
  /** Of two wakeups that bear one request id, the greater one was answered later. */
  readonly id: WakeupId;
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
  /** The 8 bytes in lowercase hex; null: this is the record of a repeat. */
  readonly packet: string | null;
  /**
   * Present: the request id of this record is that of a repeat, and the outcome is in the record of the same id under this request
   * id, which is the first's.
   */
  readonly repeatOf?: RequestId;
}

/** Part of an answer. */
export interface RepeatMark {
  /** Present: the request repeats the one of this id. */
  readonly repeatOf?: RequestId | undefined;
}

/**
 * Request ids of repeats by which the outcome of one wakeup is found as well; each counts as a wakeup in `wakeup.known_max`. A
 * repeat beyond that is answered alike, and the outcome is not found by its id.
 */
export const wakeupAliasesMax = 8;

/** A wakeup as repeats of its request know it. */
export interface RepeatableWakeup {
  readonly requestId: RequestId;
  /** Null: its packet was certainly not sent, and it has no record. */
  readonly id: WakeupId | null;
  /** Request ids of repeats that have a record; at most `wakeupAliasesMax`. */
  readonly aliases: RequestId[];
}

/** What the log says of a woken device: a signal login, or the reset of a sleep session. `epoch` as backends see it. */
export type LoggedTurn =
  | { readonly kind: 'login'; readonly sessionId: SessionId; readonly atMs: number }
  | { readonly kind: 'reset'; readonly epoch: number; readonly atMs: number };

/** Which wakeup of an application is meant. */
export interface WakeupName {
  readonly appId: ApplicationId;
  readonly requestId: RequestId;
  /** Of those that bear the request id: this one; a device's latest; null: the latest of all. */
  readonly which: WakeupId | { readonly deviceId: DeviceId } | null;
}

/** A wakeup of some application: which one, and what is kept of it. */
export interface KnownWakeup {
  readonly appId: ApplicationId;
  readonly requestId: RequestId;
  readonly record: WakeupRecord;
}

/** By their ids, which rise with the time of the answer. */
export function latestFirst(wakeups: Iterable<KnownWakeup>): KnownWakeup[] {
  return [...wakeups].sort((one, other) => (one.record.id < other.record.id ? 1 : -1));
}

/** An answer to a wakeup that was not 202. */
export interface RefusedWakeup {
  /** Wall milliseconds. */
  readonly atMs: number;
  readonly requestId: RequestId;
  /** Null: a text that is no application id. */
  readonly appId: ApplicationId | null;
  /** False: the request only said that it was of this application. */
  readonly isProven: boolean;
  /** Null: it was refused before its body was read. */
  readonly deviceId: DeviceId | null;
  readonly code: FailureCode;
  /** For people; at most `refusalReasonCharactersMax` characters. */
  readonly reason: string;
}

/** What a member knows of the wakeups that bear a request id, the latest first. */
export interface WakeupsKnown {
  readonly wakeups: readonly KnownWakeup[];
  readonly refused: readonly RefusedWakeup[];
}
