/** One answer from the log for an operator, the same from a running server and from a store at rest. */
import type { LoggedEvent } from '../../model/events.ts';
import type { JsonObject } from '../../model/json.ts';
import { encodeEvent } from '../../protocol/rest/events.ts';
import { findPlace, readForward, readNewest, type EventPage, type EventSource } from './event-pages.ts';
import type { EventsRequest, EventStart } from './event-request.ts';

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

export interface EventsAnswer {
  /** In the order of the log. */
  readonly events: readonly WireEvent[];
  /** Pass it back as `after`: nothing is missed or repeated. */
  readonly next: number;
  /** Of the log when it was read; `next` is less where the answer was full or the search was long. */
  readonly head: number;
  /** Pass it back with `last` to look further back; null: there is nothing to look for. */
  readonly before: number | null;
  /** Events between where it was to begin and where it does are not kept. */
  readonly truncated: boolean;
}

export async function readEvents(source: EventSource, request: EventsRequest): Promise<EventsAnswer> {
  const { start, filter, limit } = request;
  if (start.kind === 'last') {
    const newest = await readNewest(source, filter, start.count, start.before);
    return answerOf(newest, newest.before, false);
  }
  const { place, isCut } = placeOf(source, start);
  const page = await readForward(source, filter, place, limit);
  return answerOf(page, null, isCut || page.hasGap);
}

/** `isCut`: what was asked for began before what is kept, or beyond the end. */
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
  // A cursor beyond the end is of another log, or of what a power cut took.
  const place = Math.min(Math.max(after, begin), source.head);
  return { place, isCut: place !== after };
}

function answerOf(page: EventPage, before: number | null, truncated: boolean): EventsAnswer {
  const { events, next, head } = page;
  return { events: events.map(wireEvent), next, head, before, truncated };
}

export function wireEvent(event: LoggedEvent): WireEvent {
  return JSON.parse(encodeEvent(event)) as WireEvent;
}
