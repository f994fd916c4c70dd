/**
 * Reads a page of the log for one application: the events that are there, or, if the caller waits, those that come. Only
 * committed events are in the log, so no event that is answered here can be lost. Source: events.md, Reading.
 */
import type { Clock } from '../../lib/clock.ts';
import type { FairQueue, FairQueueShape } from '../../lib/fair-queue.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { refusal, type EventsCode, type Refusal } from '../../model/codes.ts';
import type { EventPage, EventsStart, LoggedEvent } from '../../model/events.ts';
import type { Log } from '../../lib/log.ts';
import type { EventWaiters } from './event-waiters.ts';
import type { ClusterDeps } from '../devices/locate-device.ts';
import type { ReaderSlot, WaitingReaders } from './waiting-readers.ts';
import type { ApplicationId, ProductId } from '../../model/ids.ts';
import { eventsScannedMax, readersPerApplicationMax } from '../../model/limits.ts';
import { isOfApplication } from '../../model/registry.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';

/** Scans of the log, in events: a turn takes about 2 ms at 3 µs to read one that is not in memory. */
export const scanQueueShape: FairQueueShape = {
  unitsPerTurn: 500,
  jobCost: 10,
  jobsMax: readersPerApplicationMax,
};

export interface ReadEventsDeps extends ScanDeps {
  readonly clock: Clock;
  readonly readers: WaitingReaders;
  readonly queue: FairQueue;
  readonly waiters: EventWaiters;
  readonly log: Log;
  /** Null: no other member writes the log. */
  readonly cluster: Pick<ClusterDeps, 'logReaches'> | null;
}

export interface ReadEventsRequest extends ScanRequest {
  /** 0: answer at once, with or without events. */
  readonly waitMs: number;
  /** Calls the listener when the caller has gone. */
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
  { clock, queue, waiters }: ReadEventsDeps,
  { appId, waitMs }: ReadEventsRequest,
  scan: EventScan,
  slot: ReaderSlot,
): Promise<void> {
  const deadlineMs = clock.monotonicMs() + waitMs;
  for (;;) {
    await queue.run(appId, scan);
    const leftMs = deadlineMs - clock.monotonicMs();
    if (scan.hasNews || leftMs <= 0) return;
    if (scan.next < waiters.notifiedUpTo) continue;
    const behind = await waiters.wait(appId, slot, leftMs);
    scan.skipTo(behind ?? waiters.notifiedUpTo);
    if (behind === null) return;
  }
}

interface ScanDeps {
  readonly events: EventLog;
  readonly registry: RegistryReader;
}

interface ScanRequest {
  readonly appId: ApplicationId;
  readonly start: EventsStart;
  /** Events of the application's, at most. */
  readonly limit: number;
}

/** A step looks at this many, though few are wanted: mostly the next ones are another's. */
const lookedAtLeast = 64;

/**
 * One reader's scan of the log, in steps: from its start to the limit it asked for, to the head, or to the most that one
 * request may look at. It knows its place, so that nothing is missed or read twice.
 */
class EventScan {
  readonly #deps: ScanDeps;
  readonly #appId: ApplicationId;
  readonly #limit: number;
  readonly #found: LoggedEvent[] = [];
  #next: number;
  #truncated = false;
  #lookedAt = 0;
  #abandoned = false;

  constructor(deps: ScanDeps, { appId, start, limit }: ScanRequest) {
    const { head, oldest } = deps.events;
    this.#deps = deps;
    this.#appId = appId;
    this.#limit = limit;
    this.#next = start === 'oldest' ? oldest - 1 : start === 'latest' ? head : start;
  }

  /** The sequence of the last event that was looked at, or need not be. */
  get next(): number {
    return this.#next;
  }

  /** It starts beyond the head of this log. */
  get isAhead(): boolean {
    return this.#next > this.#deps.events.head;
  }

  /** Goes back to the head: the events it starts behind will not come, since the log has lost its end. */
  turnBack(): void {
    if (!this.isAhead) return;
    this.#next = this.#deps.events.head;
    this.#truncated = true;
  }

  /** Nothing more to look at for now. */
  get isFinished(): boolean {
    return this.#isOver || this.#found.length >= this.#limit || this.#next >= this.#deps.events.head;
  }

  /** When finished: there is something to answer, and waiting would only delay it. */
  get hasNews(): boolean {
    return this.#isOver || this.#found.length > 0 || this.#truncated;
  }

  get page(): EventPage {
    return { events: this.#found, next: this.#next, truncated: this.#truncated };
  }

  /** Up to here there is nothing of the application's. */
  skipTo(sequence: number): void {
    this.#next = Math.max(this.#next, sequence);
  }

  /** The caller has gone. */
  abandon(): void {
    this.#abandoned = true;
  }

  /** Looks at the next events, at most `eventsMax`, and says at how many. Throws when log or registry cannot be read. */
  step(eventsMax: number): number {
    const { events } = this.#deps;
    const { head, oldest } = events;
    if (this.#next < oldest - 1) {
      this.#next = oldest - 1;
      this.#truncated = true;
    }
    const wanted = Math.max(this.#limit - this.#found.length, lookedAtLeast);
    const count = Math.min(eventsMax, wanted, eventsScannedMax - this.#lookedAt);
    const slice = events.read(this.#next, count);
    this.#lookAt(slice);
    this.#lookedAt += slice.length;
    if (slice.length < count && this.#found.length < this.#limit) this.skipTo(head);
    return slice.length;
  }

  get #isOver(): boolean {
    return this.#abandoned || this.#lookedAt >= eventsScannedMax;
  }

  #lookAt(slice: readonly LoggedEvent[]): void {
    const mine = new Map<ProductId, boolean>();
    for (const event of slice) {
      this.#next = event.sequence;
      if (!this.#isMine(event, mine)) continue;
      this.#found.push(event);
      if (this.#found.length >= this.#limit) return;
    }
  }

  /** Asked of the registry once a step for each product: it may change while a reader waits. */
  #isMine({ productId }: LoggedEvent, known: Map<ProductId, boolean>): boolean {
    if (productId === null) return false;
    const already = known.get(productId);
    if (already !== undefined) return already;
    const mine = isOfApplication(this.#deps.registry.findProduct(productId), this.#appId);
    known.set(productId, mine);
    return mine;
  }
}
