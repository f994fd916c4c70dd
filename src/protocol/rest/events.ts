/** GET /v1/events: query in, `data` out. Source: events.md, Reading. */
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { EventPage, EventsStart } from '../../model/event-page.ts';
import { eventsPageCharactersMax, eventsPageDefault, eventsPageMax } from '../../model/limits.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import { encodeEvent } from './event-json.ts';
import { parseQuery } from './query.ts';
import { decodeWait } from './wait.ts';

export interface EventsQuery {
  readonly start: EventsStart;
  readonly limit: number;
  readonly waitMs: number;
}

/** The values, or what is wrong in words for the caller. */
export function decodeEventsQuery(rawQuery: string): Result<EventsQuery, string> {
  const query = parseQuery(rawQuery);
  if (!query.ok) return query;
  const start = decodeAfter(query.value.get('after'));
  if (!start.ok) return start;
  const limit = decodeLimit(query.value.get('limit'));
  if (!limit.ok) return limit;
  const waitMs = decodeWait(query.value.get('wait'));
  if (!waitMs.ok) return waitMs;
  return succeed({ start: start.value, limit: limit.value, waitMs: waitMs.value });
}

function decodeAfter(value: string | undefined): Result<EventsStart, string> {
  if (value === undefined) return succeed('oldest');
  if (value === 'latest') return succeed('latest');
  const sequence = decodeCursor(value);
  return sequence === null
    ? fail('after must be "latest" or the next of an earlier answer')
    : succeed(sequence);
}

const limitForm = /^[0-9]{1,4}$/;

function decodeLimit(value: string | undefined): Result<number, string> {
  if (value === undefined) return succeed(eventsPageDefault);
  const limit = limitForm.test(value) ? Number(value) : 0;
  return limit >= 1 && limit <= eventsPageMax
    ? succeed(limit)
    : fail(`limit must be a whole number of 1-${eventsPageMax}`);
}

/** JSON text. A page too large ends early, and its cursor with it. */
export function encodeEventPage({ events, next, truncated }: EventPage): string {
  const texts: string[] = [];
  let characters = 0;
  let last = next;
  for (const event of events) {
    const text = encodeEvent(event);
    characters += text.length;
    if (characters > eventsPageCharactersMax && texts.length > 0) {
      last = event.sequence - 1;
      break;
    }
    texts.push(text);
  }
  return `{"events":[${texts.join(',')}],"next":"${encodeCursor(last)}","truncated":${truncated}}`;
}
