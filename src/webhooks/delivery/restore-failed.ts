/** The failed events of a hook as the book has them, put back to where they were when the process ended. */
import type { FailedEvent } from '../../core/ports/delivery-store.ts';
import type { FirstAttempts } from './first-attempts.ts';
import type { HookDeps } from './hook-deps.ts';
import type { KeptEvents } from './kept-events.ts';
import { ticketOf } from './ticket.ts';

/** What the book has of a hook beside its record. */
export interface KeptBefore {
  readonly failed: readonly FailedEvent[];
  /** Sequences of the parked events behind its cursor. */
  readonly parkedAhead: readonly number[];
}

export const nothingKept: KeptBefore = { failed: [], parkedAhead: [] };

/** Those that failed once come before those that were never tried: they hold up the later ones of their device. */
export function restoreFailed(
  failed: readonly FailedEvent[],
  kept: KeptEvents,
  first: FirstAttempts,
  { clock, schedule }: Pick<HookDeps, 'clock' | 'schedule'>,
): void {
  const byAttempts = failed.toSorted((one, other) => other.attempts - one.attempts);
  for (const { event, attempts, dueAtMs } of byAttempts) {
    const ticket = ticketOf(event, attempts, true);
    // The wall clock may have stepped meanwhile.
    const leftMs = Math.min(Math.max(0, dueAtMs - clock.wallMs()), schedule.delayMsMax(attempts));
    ticket.dueMs = clock.monotonicMs() + leftMs;
    kept.restore(ticket);
    if (attempts === 1) first.addFailedOnce(ticket);
    if (attempts === 0) first.add(ticket);
  }
}
