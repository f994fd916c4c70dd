/**
 * Webhook state that survives a restart: per hook, a cursor into the log and the events whose first attempt failed. Failed events
 * are copies, so that the retention of the log cannot drop an event before its retry. Source: events.md, Webhooks.
 */
import type { LoggedEvent } from '../../model/events.ts';
import type { EventId } from '../../model/ids.ts';

export interface DeliveryFailure {
  /** Wall milliseconds. */
  readonly atMs: number;
  /** Null: no complete answer arrived. */
  readonly status: number | null;
  readonly reason: string;
}

/** The receiver answered 410. Ends when an operator enables the hook, or when the hook gets another secret. */
export interface SwitchedOff {
  /** Wall milliseconds. */
  readonly atMs: number;
  /** SHA-256 of the hook's secret at that time: 64 lowercase hex digits. */
  readonly secretSha256: string;
}

export interface HookRecord {
  /** Number of the hook, from 1. A hook that is removed and added again gets another. */
  readonly number: number;
  /** Sequence: each event up to it is delivered, not subscribed to, or among the failed. */
  readonly cursor: number;
  readonly parked: number;
  readonly switchedOff: SwitchedOff | null;
  /** Wall milliseconds. */
  readonly lastSuccessAtMs: number | null;
  readonly lastFailure: DeliveryFailure | null;
}

export interface FailedEvent {
  readonly event: LoggedEvent;
  /** Attempts so far. 0: the event waits behind an earlier one of its device, or was replayed. */
  readonly attempts: number;
  /** Wall milliseconds of the next attempt. */
  readonly dueAtMs: number;
}

/** An event that was given up: kept until an operator replays it, or until too many are parked. */
export interface ParkedEvent {
  readonly event: LoggedEvent;
  readonly failure: DeliveryFailure;
}

export interface HookChanges {
  readonly id: string;
  /** Null: the hook and all its events are deleted. */
  readonly record: HookRecord | null;
  readonly number: number;
  /** By the event's sequence; null: deleted. */
  readonly failed: ReadonlyMap<number, FailedEvent | null>;
  readonly parked: ReadonlyMap<number, ParkedEvent | null>;
  /** Number of parked events to delete, lowest sequences first, among those stored before this change. */
  readonly parkedTrimmed: number;
}

export interface DeliveryStore {
  hooks(): ReadonlyMap<string, HookRecord>;
  /** A number that no hook uses, and that no stored event still refers to. */
  freeNumber(): number;
  failed(number: number): Iterable<FailedEvent>;
  findFailed(number: number, sequence: number): FailedEvent | null;
  /** Parked events after `after`, in log order, at most `limit`. */
  parked(number: number, after: number, limit: number): readonly ParkedEvent[];
  /** Scans all parked events, one slice per turn of the loop. */
  findParked(number: number, eventId: EventId): Promise<ParkedEvent | null>;
  /** Commits all changes, in this order, or none. Rejects when the store refuses; may be retried. */
  commit(changes: readonly HookChanges[]): Promise<void>;
  /** Deletes the leftovers of removed hooks, one slice at a time. */
  sweep(): Promise<void>;
}
