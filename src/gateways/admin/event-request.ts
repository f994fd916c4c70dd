/** What is asked of the log by an operator: a query of the ops listener, which the command line also makes for a store at rest. */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { parseDeviceId } from '../../model/ids.ts';
import { eventsPageDefault, eventsPageMax, longPollSecondsMax } from '../../model/limits.ts';
import { parseTypePattern, type EventFilter } from './event-filter.ts';

/** Where reading begins. */
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

/** What is wrong is said in words. Keys that nobody asked for are ignored. */
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

function readNumber(query: URLSearchParams, key: string, min: number, max = Infinity): number | null {
  const text = query.get(key);
  if (text === null) return null;
  const value = numberForm.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new BadQuery(`${key}: a whole number from ${min}${max === Infinity ? '' : ` to ${max}`}`);
}
