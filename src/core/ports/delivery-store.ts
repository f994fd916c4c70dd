/**
 * The state of the webhooks that outlives a restart: for each hook a cursor into the log, and the events whose first
 * attempt failed. Those carry a copy of the event, so that the log's retention cannot take it from under a retry.
 * Source: events.md, Webhooks.
 */
import type { LoggedEvent } from '../../model/events.ts';
import type { EventId } from '../../model/ids.ts';

export interface DeliveryFailure {
  /** Wall milliseconds. */
  readonly atMs: number;
  /** Null: there was no whole answer. */
  readonly status: number | null;
  /** A sentence for an operator. */
  readonly reason: string;
}

/** By 410. It ends when somebody says so, or when the hook gets another secret. */
export interface SwitchedOff {
  /** Wall milliseconds. */
  readonly atMs: number;
  /** Of the secret the hook had: 64 lowercase hex digits. */
  readonly secretSha256: string;
}

export interface HookRecord {
  /** Of this hook since it was first seen; a hook that goes and comes back has another. From 1. */
  readonly number: number;
  /** Every event up to it is delivered, not for this hook, or among the failed. */
  readonly cursor: number;
  /** How many are parked. */
  readonly parked: number;
  readonly switchedOff: SwitchedOff | null;
  /** Wall milliseconds. */
  readonly lastSuccessAtMs: number | null;
  readonly lastFailure: DeliveryFailure | null;
}

export interface FailedEvent {
  readonly event: LoggedEvent;
  /** Made so far; 0: it waits for its first one behind an earlier event of its device, or was replayed. */
  readonly attempts: number;
  /** Wall milliseconds of the next one. */
  readonly dueAtMs: number;
}

/** Given up; stays until somebody replays it, or until there are too many. */
export interface ParkedEvent {
  readonly event: LoggedEvent;
  readonly failure: DeliveryFailure;
}

/** Of one hook. */
export interface HookChanges {
  readonly id: string;
  /** Null: the hook and everything of it goes. */
  readonly record: HookRecord | null;
  readonly number: number;
  /** By the event's sequence; null: it is no longer there. */
  readonly failed: ReadonlyMap<number, FailedEvent | null>;
  readonly parked: ReadonlyMap<number, ParkedEvent | null>;
  /** How many of the parked with the lowest sequences go, of those that are there before this change. */
  readonly parkedTrimmed: number;
}

export interface DeliveryStore {
  /** By the hook's id. */
  hooks(): ReadonlyMap<string, HookRecord>;
  /** One that no hook has or had, while anything of it is left. */
  freeNumber(): number;
  failed(number: number): Iterable<FailedEvent>;
  findFailed(number: number, sequence: number): FailedEvent | null;
  /** Behind `after`, in the order of the log, at most `limit`. */
  parked(number: number, after: number, limit: number): readonly ParkedEvent[];
  /** Looks at all that are parked, a slice a turn of the loop. */
  findParked(number: number, eventId: EventId): Promise<ParkedEvent | null>;
  /** All of it or nothing, in the order given; rejects when the store did not take it, and may be asked again. */
  commit(changes: readonly HookChanges[]): Promise<void>;
  /** Removes what dropped hooks have left, a slice at a time. */
  sweep(): Promise<void>;
}
