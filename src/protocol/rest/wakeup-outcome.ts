/** GET /v1/device/wakeup-request: query in, `data` out. Source: events.md, Reading. */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { parseRequestId, type RequestId } from '../../model/ids.ts';
import type { WakeupRecord } from '../../model/wakeup.ts';
import { parseQuery } from './query.ts';
import { formatTimestamp } from './timestamp.ts';
import { decodeWait } from './wait.ts';

export interface WakeupOutcomeQuery {
  readonly requestId: RequestId;
  /** How long the caller lets the outcome be waited for, 0-30 000. */
  readonly waitMs: number;
}

export function decodeWakeupOutcomeQuery(rawQuery: string): Result<WakeupOutcomeQuery, string> {
  const query = parseQuery(rawQuery);
  if (!query.ok) return query;
  const requestId = decodeRequestId(query.value.get('request_id'));
  if (!requestId.ok) return requestId;
  const waitMs = decodeWait(query.value.get('wait'));
  return waitMs.ok ? succeed({ requestId: requestId.value, waitMs: waitMs.value }) : waitMs;
}

function decodeRequestId(value: string | undefined): Result<RequestId, string> {
  if (value === undefined) return fail('request_id is missing');
  const requestId = parseRequestId(value);
  return requestId === null
    ? fail('request_id must be 1-128 printable ASCII characters')
    : succeed(requestId);
}

/** JSON text; null stands where there is nothing yet. */
export function encodeWakeupRecord(requestId: RequestId, record: WakeupRecord): string {
  return JSON.stringify({
    request_id: requestId,
    device_id: record.deviceId,
    status: record.status,
    accepted_at: timestampOrNull(record.acceptedAtMs),
    completed_at: timestampOrNull(record.completedAtMs),
    woke_after_ms: record.wokeAfterMs,
    already_online: record.alreadyOnline,
    cause: record.cause,
  });
}

function timestampOrNull(wallMs: number | null): string | null {
  return wallMs === null ? null : formatTimestamp(wallMs);
}
