/**
 * POST /v1/device/wakeup-request: body in, `data` out; GET of the same path: query in, what became of the wakeup out.
 * Source: API doc, Endpoint 2; decisions.md, Wakeup; events.md, Reading.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { type DeviceId, parseRequestId, type RequestId } from '../../model/ids.ts';
import type { CustomData } from '../../model/sleep.ts';
import type { WakeupReceipt, WakeupRecord } from '../../model/wakeup.ts';
import { decodeDeviceId, parseJsonObject, formatTimestamp, parseQuery, decodeWait } from './shared-fields.ts';

export interface WakeupBody {
  readonly deviceId: DeviceId;
  readonly customData: CustomData;
  /** The same as it was written; null: none was asked for. */
  readonly customDataText: string | null;
}

export function decodeWakeupBody(body: Uint8Array): Result<WakeupBody, string> {
  const object = parseJsonObject(body);
  if (!object.ok) return object;
  const deviceId = decodeDeviceId(object.value['device_id']);
  if (!deviceId.ok) return deviceId;
  const customData = decodeCustomData(object.value['custom_data']);
  if (!customData.ok) return customData;
  const customDataText = customData.value;
  const bytes = customDataText === null ? null : Buffer.from(customDataText.slice(2), 'hex');
  return succeed({ deviceId: deviceId.value, customData: bytes, customDataText });
}

const customDataForm = /^0x[0-9a-fA-F]{4}$/;

/** Absent is the fixed packet; `null` and `""` are not absent. The message for a non-string is contract. */
function decodeCustomData(value: unknown): Result<string | null, string> {
  if (value === undefined) return succeed(null);
  if (typeof value !== 'string') return fail('custom_data must be a string');
  if (!customDataForm.test(value))
    return fail('custom_data must be 0x followed by exactly four hexadecimal digits');
  return succeed(value);
}

export function encodeWakeupReceipt(receipt: WakeupReceipt): string {
  const acceptedAt = formatTimestamp(receipt.acceptedAtMs);
  return `{"device_id":${JSON.stringify(receipt.deviceId)},"status":"accepted","accepted_at":"${acceptedAt}"}`;
}

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
