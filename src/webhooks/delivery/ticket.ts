/** One event on its way to one hook. */
import type { LoggedEvent } from '../../model/events.ts';
import type { DeviceId } from '../../model/ids.ts';

export interface Ticket {
  /** The event's place in the log: what orders the events of a device, and names it within its hook. */
  readonly sequence: number;
  readonly deviceId: DeviceId;
  /** Null: only the book has it, until it is tried. */
  event: LoggedEvent | null;
  /** It is among the failed in the book; else it is read ahead. */
  isKept: boolean;
  /** Failed ones so far. */
  attempts: number;
  /** Monotonic milliseconds of the next attempt; only of one that failed. */
  dueMs: number;
  /** The attempt under way is the one that an open circuit waits for. */
  isProbe: boolean;
}

/** `isKept`: it comes from the book, which has its event. */
export function ticketOf(event: LoggedEvent, attempts: number, isKept: boolean): Ticket {
  const { sequence, deviceId } = event;
  return { sequence, deviceId, event: isKept ? null : event, isKept, attempts, dueMs: 0, isProbe: false };
}
