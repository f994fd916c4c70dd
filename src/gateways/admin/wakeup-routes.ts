/**
 * `GET /v1/wakeups?request_id=…` on the ops listener: all wakeups with a request id, of every application, or with `device_id` of
 * one device. Accepted ones have packet, outcome and events; refused ones come from the memory of the server's processes.
 */
import { z } from 'zod';
import { formatTimestamp, timestampOrNull } from '../../protocol/rest/shared-fields.ts';
import { nextTurn } from '../../lib/clock.ts';
import { findWakeups, type FindWakeupsDeps, type WakeupsFound } from '../../core/wakeups/find-wakeups.ts';
import { parseRequestId, type DeviceId, type EventId, type RequestId } from '../../model/ids.ts';
import { eventsScannedMax, wakeupToOnlineMsMax } from '../../model/limits.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { KnownWakeup, RefusedWakeup } from '../../model/wakeup.ts';
import { parsedField, readRoute, type AdminRoute } from '../ops/admin-route.ts';
import { deviceIdField } from './device-changes.ts';
import { findPlace, isWanted, sliceEvents, type EventSource } from './event-pages.ts';
import { wireEvent } from './event-query.ts';

const requestIdField = z
  .string()
  .default('')
  .pipe(parsedField(parseRequestId, '1-128 printable ASCII characters'));
const wakeupsQuery = z.object({ request_id: requestIdField, device_id: deviceIdField.optional() });

export interface WakeupRoutesDeps extends FindWakeupsDeps {
  readonly events: EventSource;
}

export function wakeupRoutes(deps: WakeupRoutesDeps): readonly AdminRoute[] {
  return [
    readRoute('/v1/wakeups', wakeupsQuery, async ({ request_id: requestId, device_id: deviceId = null }) => {
      const found = await findWakeups(deps, requestId, deviceId);
      return describeWakeups(deps.events, { requestId, deviceId }, found);
    }),
  ];
}

interface WakeupsQuery {
  readonly requestId: RequestId;
  readonly deviceId: DeviceId | null;
}

async function describeWakeups(
  source: EventSource,
  query: WakeupsQuery,
  { wakeups, refused, silent }: WakeupsFound,
) {
  const events = await findEvents(source, query, wakeups);
  return {
    request_id: query.requestId,
    // Wakeups are sorted newest first, refused ones too; events in the order of the log.
    wakeups: wakeups.map(encodeWakeup),
    events: events.map(wireEvent),
    refused: refused.map(encodeRefused),
    // Members that did not answer, whose refused wakeups are missing.
    silent,
  };
}

export type WakeupsAnswer = Awaited<ReturnType<typeof describeWakeups>>;

export type WakeupJson = ReturnType<typeof encodeWakeup>;

function encodeWakeup({ appId, record }: KnownWakeup) {
  return {
    app_id: appId,
    device_id: record.deviceId,
    status: record.status,
    begun_at: formatTimestamp(record.begunAtMs),
    // Null: it was answered 50402.
    accepted_at: timestampOrNull(record.acceptedAtMs),
    completed_at: timestampOrNull(record.completedAtMs),
    woke_after_ms: record.wokeAfterMs,
    already_online: record.alreadyOnline,
    cause: record.cause,
    // 16 hexadecimal digits; null: the repeated wakeup is no longer known.
    packet: record.packet,
    // The request id of the wakeup that this one repeated; null: not a repeat.
    repeat_of: record.repeatOf ?? null,
  };
}

export type RefusedWakeupJson = ReturnType<typeof encodeRefused>;

/** `app_id` null: the text is no valid application id; `proven` false: the request only claimed this application. */
function encodeRefused({ atMs, appId, isProven, deviceId, code, reason }: RefusedWakeup) {
  return { at: formatTimestamp(atMs), app_id: appId, proven: isProven, device_id: deviceId, code, reason };
}

/** Maximum number of wakeups whose events are searched, the latest first. */
const searchedMax = 10;
/** After this time a wakeup has its outcome, and its event is in the log. */
const settledMsMax = 2 * wakeupToOnlineMsMax;

/** The newest part of the log may hold events of wakeups whose records are gone. */
async function findEvents(
  source: EventSource,
  query: WakeupsQuery,
  wakeups: readonly KnownWakeup[],
): Promise<readonly LoggedEvent[]> {
  const found = new Map<EventId, LoggedEvent>();
  if (wakeups.length === 0) await scan(source, query, source.head - eventsScannedMax, Infinity, found);
  for (const { record } of wakeups.slice(0, searchedMax)) {
    const { begunAtMs, deviceId, repeatOf } = record;
    const named = repeatOf === undefined ? query : { requestId: repeatOf, deviceId };
    await scan(source, named, findPlace(source, begunAtMs), begunAtMs + settledMsMax, found);
  }
  return [...found.values()].sort((one, other) => one.sequence - other.sequence);
}

/** Scans at most `eventsScannedMax` events, one slice per turn of the event loop. */
async function scan(
  source: EventSource,
  { requestId, deviceId }: WakeupsQuery,
  from: number,
  untilMs: number,
  found: Map<EventId, LoggedEvent>,
): Promise<void> {
  const filter = { deviceId, types: null };
  let after = Math.max(from, source.oldest - 1);
  for (let scanned = 0; scanned < eventsScannedMax; scanned += sliceEvents) {
    if (scanned > 0) await nextTurn();
    const slice = source.read(after, sliceEvents);
    for (const event of slice)
      if (isOf(event, requestId) && isWanted(filter, event)) found.set(event.id, event);
    const last = slice.at(-1);
    if (last === undefined || last.atMs > untilMs) return;
    after = last.sequence;
  }
}

function isOf({ data }: LoggedEvent, requestId: RequestId): boolean {
  return 'request_id' in data && data.request_id === requestId;
}
