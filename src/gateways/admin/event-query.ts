/** A query of the event log by an operator and its answer. */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { parseDeviceId } from '../../model/ids.ts';
import { eventsPageDefault, eventsPageMax, longPollSecondsMax } from '../../model/limits.ts';
import {
  type EventFilter,
  findPlace,
  readForward,
  readNewest,
  type EventPage,
  type EventSource,
} from './event-pages.ts';
import { eventTypes, type EventType, type LoggedEvent } from '../../model/events.ts';
import type { JsonObject } from '../../model/json.ts';
import { encodeEvent } from '../../protocol/rest/events.ts';

/** The place at which reading begins. */
export type EventStart =
  /** Behind this sequence; null: with the oldest kept. */
  | { readonly kind: 'after'; readonly after: number | null }
  /** At this moment in Unix milliseconds, or behind the event of this id. */
  | { readonly kind: 'since'; readonly since: number | string }
  /** The newest so many, those before a sequence; null: before the end. */
  | { readonly kind: 'last'; readonly count: number; readonly before: number | null };

export interface EventsRequest {
  readonly start: EventStart;
  readonly filter: EventFilter;
  readonly limit: number;
  readonly waitMs: number;
}

const typePatternsMax = 32;
const numberForm = /^\d{1,15}$/;
const eventIdForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const startKeys = ['after', 'since', 'last'] as const;

class BadQuery extends Error {}

/** Fails with what is wrong, in words. Unknown keys are ignored. */
export function parseEventsRequest(query: URLSearchParams): Result<EventsRequest, string> {
  try {
    return succeed({
      start: parseStart(query),
      filter: parseFilter(query),
      limit: readNumber(query, 'limit', 1, eventsPageMax) ?? eventsPageDefault,
      waitMs: (readNumber(query, 'wait', 0, longPollSecondsMax) ?? 0) * 1000,
    });
  } catch (error) {
    if (error instanceof BadQuery) return fail(error.message);
    throw error;
  }
}

function parseStart(query: URLSearchParams): EventStart {
  const given = startKeys.filter((key) => query.has(key));
  if (given.length > 1) throw new BadQuery(`${given.join(', ')}: one of them at a time`);
  const count = readNumber(query, 'last', 0, eventsPageMax);
  if (count !== null) return { kind: 'last', count, before: readNumber(query, 'before', 1) };
  const since = query.get('since');
  if (since === null) return { kind: 'after', after: readNumber(query, 'after', 0) };
  if (!numberForm.test(since) && !eventIdForm.test(since))
    throw new BadQuery('since: Unix milliseconds or the id of an event');
  return { kind: 'since', since: numberForm.test(since) ? Number(since) : since };
}

function parseFilter(query: URLSearchParams): EventFilter {
  const id = query.get('device_id');
  const deviceId = id === null ? null : parseDeviceId(id);
  if (id !== null && deviceId === null) throw new BadQuery('device_id: 1-255 bytes of valid UTF-8');
  const patterns = query.getAll('type');
  if (patterns.length === 0) return { deviceId, types: null };
  if (patterns.length > typePatternsMax) throw new BadQuery(`type: at most ${typePatternsMax} of them`);
  const types = patterns.flatMap((pattern) => {
    const found = parseTypePattern(pattern);
    if (found === null) throw new BadQuery(`type: there is no ${JSON.stringify(pattern)}`);
    return found;
  });
  return { deviceId, types: new Set(types) };
}

/** A type, or the beginning of some and `*`; null: there is no such type. */
export function parseTypePattern(text: string): readonly EventType[] | null {
  const types = text.endsWith('*')
    ? eventTypes.filter((type) => type.startsWith(text.slice(0, -1)))
    : eventTypes.filter((type) => type === text);
  return types.length === 0 ? null : types;
}

function readNumber(query: URLSearchParams, key: string, min: number, max = Infinity): number | null {
  const text = query.get(key);
  if (text === null) return null;
  const value = numberForm.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new BadQuery(`${key}: a whole number from ${min}${max === Infinity ? '' : ` to ${max}`}`);
}

/** An event as backends read it. Source: events.md, The log. */
export interface WireEvent {
  readonly id: string;
  readonly type: string;
  readonly at: string;
  readonly device_id: string;
  readonly seq: number;
  readonly epoch: number | null;
  readonly data: JsonObject;
}

export type EventsAnswer = ReturnType<typeof answerOf>;

export async function answerEventsRequest(
  source: EventSource,
  request: EventsRequest,
): Promise<EventsAnswer> {
  const { start, filter, limit } = request;
  if (start.kind === 'last') {
    const newest = await readNewest(source, filter, start.count, start.before);
    return answerOf(newest, newest.before, false);
  }
  const { place, isCut } = placeOf(source, start);
  const page = await readForward(source, filter, place, limit);
  return answerOf(page, null, isCut || page.hasGap);
}

/** `isCut`: the place asked for is before the oldest event kept, or beyond the end. */
function placeOf(
  source: EventSource,
  start: Exclude<EventStart, { kind: 'last' }>,
): { readonly place: number; readonly isCut: boolean } {
  const begin = source.oldest - 1;
  if (start.kind === 'since') {
    const place = findPlace(source, start.since);
    return { place, isCut: place === begin && begin > 0 };
  }
  const after = start.after ?? begin;
  // A cursor beyond the end is of another log, or of events that a power cut took.
  const place = Math.min(Math.max(after, begin), source.head);
  return { place, isCut: place !== after };
}

/**
 * `next` is passed back as `after`, so that nothing is missed or repeated; it is less than `head` where the answer was full or the
 * search was long. `before` is passed back with `last` to look further back; null: there is nothing to look for. `truncated`:
 * events between where it was to begin and where it does are not kept.
 */
function answerOf({ events, next, head }: EventPage, before: number | null, truncated: boolean) {
  return { events: events.map(wireEvent), next, head, before, truncated };
}

export function wireEvent(event: LoggedEvent): WireEvent {
  return JSON.parse(encodeEvent(event)) as WireEvent;
}
