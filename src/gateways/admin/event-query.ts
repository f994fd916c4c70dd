/** An operator's query of the event log, and its answer. */
import { z } from 'zod';
import { eventsPageDefault, eventsPageMax, longPollSecondsMax } from '../../model/limits.ts';
import { findPlace, readForward, readNewest, type EventPage, type EventSource } from './event-pages.ts';
import { eventTypes, type EventType, type LoggedEvent } from '../../model/events.ts';
import type { JsonObject } from '../../model/json.ts';
import { encodeEvent } from '../../protocol/rest/events.ts';
import { deviceIdField } from './device-changes.ts';

const typePatternsMax = 32;
const numberForm = /^\d{1,15}$/;
const eventIdForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const number = z.string().regex(numberForm, 'a whole number').transform(Number);

function wholeNumber(min: number, max = Infinity) {
  return number.pipe(z.number().min(min).max(max));
}

const typeField = z.string().transform((pattern, context): readonly EventType[] => {
  const types = parseTypePattern(pattern);
  if (types === null) context.addIssue(`no event type matches ${JSON.stringify(pattern)}`);
  return types ?? z.NEVER;
});

/** Reading starts after the sequence `after`, at the oldest event kept, at `since`, or `last` events before a sequence. */
export const eventsQuery = z
  .object({
    after: wholeNumber(0).optional(),
    /** Unix milliseconds, or the id of an event after which to start. */
    since: z
      .union([number, z.string().regex(eventIdForm)], 'Unix milliseconds or the id of an event')
      .optional(),
    last: wholeNumber(0, eventsPageMax).optional(),
    before: wholeNumber(1).optional(),
    device_id: deviceIdField.optional(),
    type: z.preprocess((given) => [given].flat(), z.array(typeField).max(typePatternsMax)).optional(),
    limit: wholeNumber(1, eventsPageMax).default(eventsPageDefault),
    wait: wholeNumber(0, longPollSecondsMax).default(0),
  })
  .refine(
    ({ after, since, last }) => [after, since, last].filter((given) => given !== undefined).length <= 1,
    'after, since, last: only one of them may be given',
  )
  .transform(({ device_id: deviceId = null, type, limit, wait, ...start }) => {
    const types = type === undefined ? null : new Set(type.flat());
    return { start, filter: { deviceId, types }, limit, waitMs: wait * 1000 };
  });

export type EventsRequest = z.output<typeof eventsQuery>;

/** A type, or a prefix that ends in `*`; null: no such type. */
export function parseTypePattern(text: string): readonly EventType[] | null {
  const types = text.endsWith('*')
    ? eventTypes.filter((type) => type.startsWith(text.slice(0, -1)))
    : eventTypes.filter((type) => type === text);
  return types.length === 0 ? null : types;
}

/** An event in the form that backends receive. Source: events.md, The log. */
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
  { start, filter, limit }: EventsRequest,
): Promise<EventsAnswer> {
  const { last, before = null } = start;
  if (last !== undefined) {
    const newest = await readNewest(source, filter, last, before);
    return answerOf(newest, newest.before, false);
  }
  const { place, isCut } = placeOf(source, start);
  const page = await readForward(source, filter, place, limit);
  return answerOf(page, null, isCut || page.hasGap);
}

/** `isCut`: the requested place is before the oldest event kept, or beyond the end. */
function placeOf(
  source: EventSource,
  { since, after }: EventsRequest['start'],
): { readonly place: number; readonly isCut: boolean } {
  const begin = source.oldest - 1;
  if (since !== undefined) {
    const place = findPlace(source, since);
    return { place, isCut: place === begin && begin > 0 };
  }
  // A cursor beyond the end belongs to another log, or to events lost in a power cut.
  const place = Math.min(Math.max(after ?? begin, begin), source.head);
  return { place, isCut: after !== undefined && place !== after };
}

/**
 * `next`: passed back as `after`, it misses and repeats nothing; smaller than `head` if the answer was full or the search reached
 * its limit. `before`: passed back with `last` to search further back; null: nothing older. `truncated`: events between the
 * requested start and the first one returned were deleted.
 */
function answerOf({ events, next, head }: EventPage, before: number | null, truncated: boolean) {
  return { events: events.map(wireEvent), next, head, before, truncated };
}

export function wireEvent(event: LoggedEvent): WireEvent {
  return JSON.parse(encodeEvent(event)) as WireEvent;
}
