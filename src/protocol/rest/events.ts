/**
 * GET /v1/events: query in, `data` out, with the cursor for a position in the log, and the text of one event, read or pushed.
 * Source: events.md, The log and Reading.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { EventPage, EventsStart, LoggedEvent } from '../../model/events.ts';
import { eventsPageCharactersMax, eventsPageDefault, eventsPageMax } from '../../model/limits.ts';
import { parseQuery, decodeLimit, decodeWait, formatTimestamp } from './shared-fields.ts';

export interface EventsQuery {
  readonly start: EventsStart;
  readonly limit: number;
  readonly waitMs: number;
}

export function decodeEventsQuery(rawQuery: string): Result<EventsQuery, string> {
  const query = parseQuery(rawQuery, 'events');
  if (!query.ok) return query;
  const start = decodeAfter(query.value.get('after'));
  if (!start.ok) return start;
  const limit = decodeLimit(query.value.get('limit'), eventsPageDefault, eventsPageMax);
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

/** JSON text. An oversized page ends early, and its cursor with it. */
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

/** A cursor is opaque to callers: a version byte and the sequence in eight bytes, as twelve characters of base64url. */
const cursorVersion = 1;
const cursorBytes = 9;
const cursorForm = /^[A-Za-z0-9_-]{12}$/;

/** `sequence`: the cursor points after this event; 0: before the first. */
export function encodeCursor(sequence: number): string {
  const bytes = Buffer.allocUnsafe(cursorBytes);
  bytes[0] = cursorVersion;
  bytes.writeBigUInt64BE(BigInt(sequence), 1);
  return bytes.toString('base64url');
}

/** Null: not a cursor of this server. */
export function decodeCursor(text: string): number | null {
  if (!cursorForm.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  if (bytes[0] !== cursorVersion) return null;
  const sequence = Number(bytes.readBigUInt64BE(1));
  return Number.isSafeInteger(sequence) ? sequence : null;
}

/** Cached as long as the event itself, so that readers of one event share its text. */
const texts = new WeakMap<LoggedEvent, string>();

/** JSON text, built at most once per event object. */
export function encodeEvent(event: LoggedEvent): string {
  const known = texts.get(event);
  if (known !== undefined) return known;
  const { id, type, atMs, deviceId, seq, epoch, data } = event;
  const text =
    `{"id":"${id}","type":"${type}","at":"${formatTimestamp(atMs)}","device_id":${JSON.stringify(deviceId)},` +
    `"seq":${seq},"epoch":${epoch},"data":${JSON.stringify(data)}}`;
  texts.set(event, text);
  return text;
}
