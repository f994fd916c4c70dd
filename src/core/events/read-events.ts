/**
 * Reads a page of the log for one application: the available events, or, if the caller waits, the next ones. Only committed events
 * are in the log, so no answered event can be lost. Source: events.md, Reading.
 */
import type { FairQueue, FairQueueShape } from '../../lib/collections/fair-queue.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { refusal, type EventsCode, type Refusal } from '../../model/codes.ts';
import type { EventPage, EventsStart, LoggedEvent } from '../../model/events.ts';
import type { CoreDeps } from '../ports/core-deps.ts';
import type { EventWaiters } from './event-waiters.ts';
import type { ClusterDeps } from '../devices/locate-device.ts';
import type { ReaderSlot, WaitingReaders } from './waiting-readers.ts';
import type { ApplicationId, ProductId } from '../../model/ids.ts';
import { eventsScannedMax, readersPerApplicationMax } from '../../model/limits.ts';
import { isOfApplication } from '../../model/registry.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';

/** Units are events: a turn takes about 2 ms, at 3 µs per event that is not in memory. */
export const scanQueueShape: FairQueueShape = {
  unitsPerTurn: 500,
  jobCost: 10,
  jobsMax: readersPerApplicationMax,
};

export interface ReadEventsDeps extends ScanDeps, Pick<CoreDeps, 'clock' | 'log'> {
  readonly readers: WaitingReaders;
  readonly queue: FairQueue;
  readonly waiters: EventWaiters;
  /** Null: no other member writes to the log. */
  readonly cluster: Pick<ClusterDeps, 'logReaches'> | null;
}

export interface ReadEventsRequest extends ScanRequest {
  readonly waitMs: number;
  onGone(listener: () => void): void;
}

export type EventsAnswer = Result<EventPage, Refusal<EventsCode>>;

/** Settles within `waitMs` and the time of a scan; at once when the server stops. Never rejects. */
export async function readEvents(deps: ReadEventsDeps, request: ReadEventsRequest): Promise<EventsAnswer> {
  const slot = deps.readers.enter(request.appId);
  if (slot === null) return fail(refusal(42901, 'too many requests wait for events'));
  try {
    const scan = new EventScan(deps, request);
    request.onGone(() => {
      scan.abandon();
      slot.wake();
    });
    if (scan.isAhead && !(await isExpected(deps, scan.next))) scan.rewind();
    await scanUntilNews(deps, request, scan, slot);
    return succeed(scan.page);
  } catch (error) {
    deps.log.error({ err: error }, 'events: not read: registry or store unreadable; answered 50301');
    return fail(refusal(50301, 'events cannot be read now'));
  } finally {
    slot.leave();
  }
}

/** A cursor from another member may briefly be ahead of the local log. */
async function isExpected({ cluster }: ReadEventsDeps, sequence: number): Promise<boolean> {
  return cluster !== null && cluster.logReaches(sequence);
}

/** The check of the head and the wait are in one turn, so that no event is missed. */
async function scanUntilNews(
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
  readonly limit: number;
}

/** Minimum events per step, since most belong to other applications. */
const scannedMin = 64;

/**
 * One reader's scan of the log, in steps: from its start to its limit, the head, or the maximum per request. It keeps its position,
 * so that nothing is skipped or read twice.
 */
class EventScan {
  readonly #deps: ScanDeps;
  readonly #appId: ApplicationId;
  readonly #limit: number;
  readonly #found: LoggedEvent[] = [];
  #next: number;
  #truncated = false;
  #scanned = 0;
  #abandoned = false;

  constructor(deps: ScanDeps, { appId, start, limit }: ScanRequest) {
    const { head, oldest } = deps.events;
    this.#deps = deps;
    this.#appId = appId;
    this.#limit = limit;
    this.#next = start === 'oldest' ? oldest - 1 : start === 'latest' ? head : start;
  }

  /** Sequence of the last event that was scanned or may be skipped. */
  get next(): number {
    return this.#next;
  }

  get isAhead(): boolean {
    return this.#next > this.#deps.events.head;
  }

  /** Returns to the head: the events before its start will not arrive, since the log lost its end. */
  rewind(): void {
    if (!this.isAhead) return;
    this.#next = this.#deps.events.head;
    this.#truncated = true;
  }

  get isFinished(): boolean {
    return this.#isOver || this.#found.length >= this.#limit || this.#next >= this.#deps.events.head;
  }

  /** Once finished: true if there is something to answer, and a wait would only delay it. */
  get hasNews(): boolean {
    return this.#isOver || this.#found.length > 0 || this.#truncated;
  }

  get page(): EventPage {
    return { events: this.#found, next: this.#next, truncated: this.#truncated };
  }

  skipTo(sequence: number): void {
    this.#next = Math.max(this.#next, sequence);
  }

  abandon(): void {
    this.#abandoned = true;
  }

  /** Scans the next events, at most `eventsMax`; returns their number. Throws when the log or the registry cannot be read. */
  step(eventsMax: number): number {
    const { events } = this.#deps;
    const { head, oldest } = events;
    if (this.#next < oldest - 1) {
      this.#next = oldest - 1;
      this.#truncated = true;
    }
    const wanted = Math.max(this.#limit - this.#found.length, scannedMin);
    const count = Math.min(eventsMax, wanted, eventsScannedMax - this.#scanned);
    const slice = events.read(this.#next, count);
    this.#collect(slice);
    this.#scanned += slice.length;
    if (slice.length < count && this.#found.length < this.#limit) this.skipTo(head);
    return slice.length;
  }

  get #isOver(): boolean {
    return this.#abandoned || this.#scanned >= eventsScannedMax;
  }

  #collect(slice: readonly LoggedEvent[]): void {
    const mine = new Map<ProductId, boolean>();
    for (const event of slice) {
      this.#next = event.sequence;
      if (!this.#isMine(event, mine)) continue;
      this.#found.push(event);
      if (this.#found.length >= this.#limit) return;
    }
  }

  /** Reads the registry once per step and product: it may change while a reader waits. */
  #isMine({ productId }: LoggedEvent, known: Map<ProductId, boolean>): boolean {
    if (productId === null) return false;
    const already = known.get(productId);
    if (already !== undefined) return already;
    const mine = isOfApplication(this.#deps.registry.findProduct(productId), this.#appId);
    known.set(productId, mine);
    return mine;
  }
}
