/**
 * A page of the log for one application: what is there, or, if the caller lets it wait, what comes. Only what is
 * committed is in the log, so nothing that is told here can be lost. Source: events.md, Reading.
 */
import type { Clock } from '../../lib/clock.ts';
import { fail, succeed, type Outcome } from '../../lib/outcome.ts';
import { refusal, type EventsCode, type Refusal } from '../../model/codes.ts';
import type { EventPage } from '../../model/event-page.ts';
import type { Log } from '../ports/log.ts';
import type { EventArrivals } from './event-arrivals.ts';
import { EventScan, type ScanHouse, type ScanRequest } from './event-scan.ts';
import type { EventTurns } from './event-turns.ts';
import type { ClusterHouse } from '../devices/locate-device.ts';
import type { Seat, WaitingReaders } from './waiting-readers.ts';

export interface ReadEventsHouse extends ScanHouse {
  readonly clock: Clock;
  readonly readers: WaitingReaders;
  readonly turns: EventTurns;
  readonly arrivals: EventArrivals;
  readonly log: Log;
  /** Null: nobody else writes the log. */
  readonly cluster: Pick<ClusterHouse, 'logReaches'> | null;
}

export interface ReadEventsRequest extends ScanRequest {
  /** 0: answer with what there is. */
  readonly waitMs: number;
  /** Calls the listener when nobody waits for the answer any more. */
  onGone(listener: () => void): void;
}

export type EventsAnswer = Outcome<EventPage, Refusal<EventsCode>>;

/** Settles within `waitMs` and the time it takes to look, at once when the server is stopped; never rejects. */
export async function readEvents(house: ReadEventsHouse, request: ReadEventsRequest): Promise<EventsAnswer> {
  const seat = house.readers.enter(request.appId);
  if (seat === null) return fail(refusal(42901, 'as many readers as may are here already'));
  try {
    const scan = new EventScan(house, request);
    request.onGone(() => {
      scan.abandon();
      seat.wake();
    });
    if (scan.isAhead && !(await isToCome(house, scan.next))) scan.turnBack();
    await look(house, request, scan, seat);
    return succeed(scan.page);
  } catch (error) {
    house.log.error({ err: error }, 'events cannot be read');
    return fail(refusal(50301, 'events cannot be read now'));
  } finally {
    seat.leave();
  }
}

/** A cursor that another member gave may be ahead of this one's log for a moment. */
async function isToCome({ cluster }: ReadEventsHouse, sequence: number): Promise<boolean> {
  return cluster !== null && cluster.logReaches(sequence);
}

/** Between looking at the head and waiting there is no other turn, so nothing can come unnoticed. */
async function look(
  { clock, turns, arrivals }: ReadEventsHouse,
  { appId, waitMs }: ReadEventsRequest,
  scan: EventScan,
  seat: Seat,
): Promise<void> {
  const deadlineMs = clock.monotonicMs() + waitMs;
  for (;;) {
    await turns.run(appId, scan);
    const leftMs = deadlineMs - clock.monotonicMs();
    if (scan.hasNews || leftMs <= 0) return;
    if (scan.next < arrivals.toldUpTo) continue;
    const behind = await arrivals.wait(appId, seat, leftMs);
    scan.skipTo(behind ?? arrivals.toldUpTo);
    if (behind === null) return;
  }
}
