/**
 * The log of events as it grows, one after the other, whatever happens to the server or the way to it. Every event
 * comes at least once: going on from a cursor may repeat those of one page. Source: events.md, Reading.
 */
import { pause, type Clock } from '../lib/clock.ts';
import type { EventsCode, TransportCode } from '../model/codes.ts';
import type { ApiEvent, EventsData, ApiResult } from './answers.ts';
import { ReveilleProtocolError, ReveilleRefusedError, ReveilleUnreachableError } from './client-errors.ts';
import { backoffMs } from './client-options.ts';

export interface FollowedEvent {
  readonly event: ApiEvent;
  /**
   * Where to go on when this event is done: behind it, or, within a page, where that page began; keep it and pass it as
   * `after`. Null: at the oldest.
   */
  readonly cursor: string | null;
  /** Events before this one were lost to us, since the last: read the state anew. */
  readonly truncated: boolean;
}

export interface EventsPlace {
  readonly after: string | undefined;
  readonly limit: number | undefined;
  /** 0: answers at once. */
  readonly waitS: number;
}

export interface FollowedLog {
  readonly clock: Clock;
  /** Draws from 0 to 1. */
  readonly random: () => number;
  read(place: EventsPlace): Promise<ApiResult<EventsData, EventsCode>>;
  /** Told each time before it is asked again. */
  onTrouble(error: Error): void;
}

/** How long a log that does not answer is left alone: doubling from the first to the second. */
const pauseMsMin = 1000;
const pauseMsMax = 30_000;

/** Ends when the signal is aborted. Throws a ReveilleRefusedError when the server refuses and would again. */
export async function* followEvents(
  log: FollowedLog,
  { after: start, limit, waitS }: EventsPlace,
  signal: AbortSignal,
): AsyncGenerator<FollowedEvent, void, undefined> {
  let after = start;
  let failures = 0;
  let truncated = false;
  while (!signal.aborted) {
    // Now is fixed before anything is waited for, so that a lost answer loses no event.
    const place = { after, limit, waitS: after === 'latest' ? 0 : waitS };
    const askedMs = log.clock.monotonicMs();
    const page = await readPage(log, place);
    if (page instanceof Error) {
      failures += 1;
      log.onTrouble(page);
      await pause(log.clock, backoffMs(failures, pauseMsMin, pauseMsMax, log.random()), signal);
      continue;
    }
    failures = 0;
    truncated ||= page.truncated;
    for (const [index, event] of page.events.entries()) {
      const isLast = index === page.events.length - 1;
      yield { event, cursor: isLast ? page.next : (after ?? null), truncated };
      if (signal.aborted) return;
      truncated = false;
    }
    // A server that is being stopped waits for nothing.
    const isIdle = page.next === after && log.clock.monotonicMs() - askedMs < pauseMsMin;
    after = page.next;
    if (isIdle) await pause(log.clock, pauseMsMin, signal);
  }
}

/** Answers after which the same may succeed. */
const passing: ReadonlySet<EventsCode | TransportCode> = new Set([42901, 50000, 50301]);

/** Or the trouble that may pass. */
async function readPage(log: FollowedLog, place: EventsPlace): Promise<EventsData | Error> {
  try {
    const result = await log.read(place);
    if (result.ok) return result.data;
    const refused = new ReveilleRefusedError(result.code, result.message, result.requestId);
    if (passing.has(result.code)) return refused;
    throw refused;
  } catch (error) {
    if (error instanceof ReveilleUnreachableError) return error;
    if (error instanceof ReveilleProtocolError && error.status >= 500) return error;
    throw error;
  }
}
