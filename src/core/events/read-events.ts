/**
 * A page of the log for one application: what is there, or, if the caller lets it wait, what comes. Only what is
 * committed is in the log, so nothing that is told here can be lost. Source: events.md, Reading.
 */
import type { Clock } from '../../lib/clock.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { refusal, type EventsCode, type Refusal } from '../../model/codes.ts';
import type { EventPage } from '../../model/event-page.ts';
import type { Log } from '../ports/log.ts';
import type { EventWaiters } from './event-waiters.ts';
import { EventScan, type ScanDeps, type ScanRequest } from './event-scan.ts';
import type { FairEventQueue } from './fair-event-queue.ts';
import type { ClusterDeps } from '../devices/locate-device.ts';
import type { ReaderSlot, WaitingReaders } from './waiting-readers.ts';

export interface ReadEventsDeps extends ScanDeps {
  readonly clock: Clock;
  readonly readers: WaitingReaders;
  readonly turns: FairEventQueue;
  readonly waiters: EventWaiters;
  readonly log: Log;
  /** Null: nobody else writes the log. */
  readonly cluster: Pick<ClusterDeps, 'logReaches'> | null;
}

export interface ReadEventsRequest extends ScanRequest {
  /** 0: answer with what there is. */
  readonly waitMs: number;
  /** Calls the listener when nobody waits for the answer any more. */
  onGone(listener: () => void): void;
}

export type EventsAnswer = Result<EventPage, Refusal<EventsCode>>;

/** Settles within `waitMs` and the time it takes to look, at once when the server is stopped; never rejects. */
export async function readEvents(deps: ReadEventsDeps, request: ReadEventsRequest): Promise<EventsAnswer> {
  const slot = deps.readers.enter(request.appId);
  if (slot === null) return fail(refusal(42901, 'as many readers as may are here already'));
  try {
    const scan = new EventScan(deps, request);
    request.onGone(() => {
      scan.abandon();
      slot.wake();
    });
    if (scan.isAhead && !(await isToCome(deps, scan.next))) scan.turnBack();
    await look(deps, request, scan, slot);
    return succeed(scan.page);
  } catch (error) {
    deps.log.error({ err: error }, 'events cannot be read');
    return fail(refusal(50301, 'events cannot be read now'));
  } finally {
    slot.leave();
  }
}

/** A cursor that another member gave may be ahead of this one's log for a moment. */
async function isToCome({ cluster }: ReadEventsDeps, sequence: number): Promise<boolean> {
  return cluster !== null && cluster.logReaches(sequence);
}

/** Between looking at the head and waiting there is no other turn, so nothing can come unnoticed. */
async function look(
  { clock, turns, waiters }: ReadEventsDeps,
  { appId, waitMs }: ReadEventsRequest,
  scan: EventScan,
  slot: ReaderSlot,
): Promise<void> {
  const deadlineMs = clock.monotonicMs() + waitMs;
  for (;;) {
    await turns.run(appId, scan);
    const leftMs = deadlineMs - clock.monotonicMs();
    if (scan.hasNews || leftMs <= 0) return;
    if (scan.next < waiters.toldUpTo) continue;
    const behind = await waiters.wait(appId, slot, leftMs);
    scan.skipTo(behind ?? waiters.toldUpTo);
    if (behind === null) return;
  }
}
