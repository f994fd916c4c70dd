/**
 * Reads the log for operators through a filter, forwards from a place or backwards from the end. It scans slices with a turn of
 * the event loop between them, so that a long search does not delay devices and callers, and one request scans a limited number
 * of events.
 */
import { nextTurn } from '../../lib/clock.ts';
import type { EventType, LoggedEvent } from '../../model/events.ts';
import type { DeviceId } from '../../model/ids.ts';
import { eventsScannedMax, recentEventsOfDeviceMax } from '../../model/limits.ts';
import type { EventLog } from '../../core/ports/event-log.ts';
import { eventIdMs } from '../../storage/events/event-rows.ts';

export interface EventFilter {
  /** Null: any device. */
  readonly deviceId: DeviceId | null;
  /** Null: any type. */
  readonly types: ReadonlySet<EventType> | null;
}

export function isWanted({ deviceId, types }: EventFilter, event: LoggedEvent): boolean {
  return (deviceId === null || event.deviceId === deviceId) && (types === null || types.has(event.type));
}

export type EventSource = Pick<EventLog, 'head' | 'oldest' | 'read' | 'recentOf'>;

/** Events per read of the store, which takes less than a millisecond. */
export const sliceEvents = 256;

export type EventPage = Omit<ReturnType<typeof newestOf>, 'before'>;

/**
 * At most `limit` events after `after`. `next`: sequence of the last event scanned; the next read continues after it. `head`: end
 * of the log at the last read; `next` is smaller if the page is full or the search reached its limit. `hasGap`: events after the
 * requested start were deleted before they could be scanned.
 */
export async function readForward(source: EventSource, filter: EventFilter, after: number, limit: number) {
  const events: LoggedEvent[] = [];
  let next = after;
  let { head } = source;
  let hasGap = false;
  for (let scanned = 0; scanned < eventsScannedMax; scanned += sliceEvents) {
    if (scanned > 0) await nextTurn();
    const slice = source.read(next, sliceEvents);
    head = source.head;
    hasGap ||= (slice[0]?.sequence ?? next + 1) > next + 1;
    for (const event of slice) {
      if (events.length === limit) return { events, next, head, hasGap };
      if (isWanted(filter, event)) events.push(event);
      next = event.sequence;
    }
    if (slice.length === 0 || next >= head || events.length === limit) break;
  }
  return { events, next, head, hasGap };
}

/**
 * The newest `count` events before the sequence `before`; null: before the end. The `before` of the result: the sequence before
 * which a further backward search continues; null: enough events were found, or none are older.
 */
export async function readNewest(
  source: EventSource,
  filter: EventFilter,
  count: number,
  before: number | null,
) {
  const { head } = source;
  const recent = before === null ? findRecent(source, filter, count) : null;
  if (recent !== null) return newestOf(recent, head, null);
  const newestFirst: LoggedEvent[] = [];
  let end = Math.min(before ?? Infinity, head + 1);
  for (let scanned = 0; scanned < eventsScannedMax; scanned += sliceEvents) {
    if (newestFirst.length >= count || end <= source.oldest) break;
    if (scanned > 0) await nextTurn();
    const slice = source.read(Math.max(0, end - 1 - sliceEvents), sliceEvents);
    for (const event of slice.toReversed())
      // If the slice was deleted meanwhile, the store returns later events.
      if (event.sequence < end && isWanted(filter, event)) newestFirst.push(event);
    end -= sliceEvents;
  }
  const isOver = newestFirst.length >= count || end <= source.oldest;
  return newestOf(newestFirst.slice(0, count).toReversed(), head, isOver ? null : end);
}

function newestOf(events: readonly LoggedEvent[], head: number, before: number | null) {
  return { events, next: head, head, hasGap: false, before };
}

/** A device's latest events, which need no scan of the log. Null: older ones may be missing. */
function findRecent(source: EventSource, filter: EventFilter, count: number): LoggedEvent[] | null {
  if (count === 0) return [];
  if (filter.deviceId === null) return null;
  const latest = source.recentOf(filter.deviceId);
  const wanted = latest.filter((event) => isWanted(filter, event));
  if (wanted.length < count && latest.length >= recentEventsOfDeviceMax) return null;
  return wanted.slice(0, count).toReversed();
}

/**
 * The sequence after which all events are newer than the moment (Unix milliseconds), or follow the event with the id. Relies on
 * the order of ids, which a clock stepped backwards does not change.
 */
export function findPlace(source: EventSource, since: number | string): number {
  const isEarlier = (event: LoggedEvent): boolean =>
    typeof since === 'number' ? eventIdMs(event.id) < since : event.id <= since;
  let low = source.oldest - 1;
  let high = source.head;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const [event] = source.read(middle - 1, 1);
    if (event !== undefined && isEarlier(event)) low = middle;
    else high = middle - 1;
  }
  return low;
}
