/**
 * Follows the event log across server restarts and network failures. Delivery is at least once: resuming from a cursor may
 * repeat the events of one page. Source: events.md, Reading.
 */
import { pause, type Clock } from '../lib/clock.ts';
import type { EventsCode, TransportCode } from '../model/codes.ts';
import type { ApiEvent, EventsData, ApiResult } from './answers.ts';
import { ReveilleProtocolError, ReveilleRefusedError, ReveilleUnreachableError } from './client-errors.ts';
import { backoffMs } from './client-options.ts';

export interface FollowedEvent {
  readonly event: ApiEvent;
  /**
   * Store it once the event is handled, and resume by passing it as `after`. Within a page it points to the start of that
   * page. Null: resume at the oldest event.
   */
  readonly cursor: string | null;
  /** Events were lost before this one: reload the state. */
  readonly truncated: boolean;
}

export interface EventsPlace {
  readonly after: string | undefined;
  readonly limit: number | undefined;
  /** 0: the server answers at once. */
  readonly waitS: number;
}

export interface FollowedLog {
  readonly clock: Clock;
  readonly random: () => number;
  read(place: EventsPlace): Promise<ApiResult<EventsData, EventsCode>>;
  /** Called before each retry. */
  onTrouble(error: Error): void;
}

/** Backoff while the log does not answer: doubles from the minimum to the maximum. */
const pauseMsMin = 1000;
const pauseMsMax = 30_000;

/** Ends when the signal is aborted. Throws a ReveilleRefusedError on a refusal that a retry cannot change. */
export async function* followEvents(
  log: FollowedLog,
  { after: start, limit, waitS }: EventsPlace,
  signal: AbortSignal,
): AsyncGenerator<FollowedEvent, void, undefined> {
  let after = start;
  let failures = 0;
  let truncated = false;
  while (!signal.aborted) {
    // `latest` becomes a cursor before the first long poll, so that a lost answer loses no event.
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
    // A draining server answers long polls at once: do not spin.
    const isIdle = page.next === after && log.clock.monotonicMs() - askedMs < pauseMsMin;
    after = page.next;
    if (isIdle) await pause(log.clock, pauseMsMin, signal);
  }
}

/** Codes of temporary failures. */
const passing: ReadonlySet<EventsCode | TransportCode> = new Set([42901, 50000, 50301]);

/** Returns a temporary failure as an Error; throws a permanent one. */
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
