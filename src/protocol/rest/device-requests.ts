/**
 * Requests about one device, body or query in, `data` out: GET /v1/device/connectivity, POST and GET of
 * /v1/device/wakeup-request, POST /v1/device/message; and `data` of GET /v1/device/msgvoip-call-status. Source: API doc,
 * Endpoints 1 to 3; decisions.md, Wakeup; events.md, Reading; signal-wire.md, Sending a message.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { type DeviceId, parseRequestId, type RequestId } from '../../model/ids.ts';
import type { CustomData } from '../../model/sleep.ts';
import type { WakeupReceipt, WakeupRecord } from '../../model/wakeup.ts';
import {
  decodeDeviceId,
  decodeWait,
  formatTimestamp,
  parseJsonObject,
  parseQuery,
  timestampOrNull,
} from './shared-fields.ts';
import type { ConnectionTimes, ConnectivityRecord } from '../../model/connectivity.ts';
import { isJsonObject, utf8Length } from '../../lib/utf8.ts';
import {
  messageNameCharactersMax,
  messagePayloadBytesMax,
  messagePayloadDepthMax,
  longPollSecondsMax,
  wakingSecondsDefault,
} from '../../model/limits.ts';
import type { MessageReceipt, MessageRefusal, MessageWakeup } from '../../model/message.ts';

/** JSON text, built by hand: this is the hottest answer, and has only three shapes. Few concatenations: the writer pays for each. */
export function encodeConnectivityRecord({ deviceId, signal, sleep }: ConnectivityRecord): string {
  const online = signal.isOnline ? ',"signal":{"is_online":true,' : ',"signal":{"is_online":false,';
  return `{"device_id":${JSON.stringify(deviceId)}${online}${encodeTimes(signal)}},"sleep":{${encodeTimes(sleep)}}}`;
}

const neverSeen = '"last_login_at":null,"last_heartbeat_at":null,"last_offline_at":null';

function encodeTimes({ lastLoginAt, lastHeartbeatAt, lastOfflineAt }: ConnectionTimes): string {
  if (lastLoginAt === null && lastHeartbeatAt === null && lastOfflineAt === null) return neverSeen;
  return `"last_login_at":${lastLoginAt},"last_heartbeat_at":${lastHeartbeatAt},"last_offline_at":${lastOfflineAt}`;
}

export function encodeCallStatus(isInCall: boolean): string {
  return `{"in_call":${isInCall}}`;
}

export interface WakeupBody {
  readonly deviceId: DeviceId;
  readonly customData: CustomData;
  /** The custom data as written by the caller; null: none. */
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
  // A copy: a small `Buffer` is part of a shared pool, all of which would be copied to another thread.
  const bytes = customDataText === null ? null : Uint8Array.from(Buffer.from(customDataText.slice(2), 'hex'));
  return succeed({ deviceId: deviceId.value, customData: bytes, customDataText });
}

const customDataForm = /^0x[0-9a-fA-F]{4}$/;

/** An absent field selects the fixed packet; `null` and `""` are errors. The message for a non-string is contract. */
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
  readonly deviceId: DeviceId | null;
  /** Maximum wait for the outcome, 0-30 000. */
  readonly waitMs: number;
}

export function decodeWakeupOutcomeQuery(rawQuery: string): Result<WakeupOutcomeQuery, string> {
  const query = parseQuery(rawQuery, 'wakeup-outcome');
  if (!query.ok) return query;
  const requestId = decodeRequestId(query.value.get('request_id'));
  if (!requestId.ok) return requestId;
  const named = query.value.get('device_id');
  const deviceId = named === undefined ? succeed(null) : decodeDeviceId(named);
  if (!deviceId.ok) return deviceId;
  const waitMs = decodeWait(query.value.get('wait'));
  return waitMs.ok
    ? succeed({ requestId: requestId.value, deviceId: deviceId.value, waitMs: waitMs.value })
    : waitMs;
}

function decodeRequestId(value: string | undefined): Result<RequestId, string> {
  if (value === undefined) return fail('request_id is missing');
  const requestId = parseRequestId(value);
  return requestId === null
    ? fail('request_id must be 1-128 printable ASCII characters')
    : succeed(requestId);
}

/** JSON text; null for values that are not known yet. */
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

export interface MessageBody {
  readonly deviceId: DeviceId;
  readonly name: string;
  /** JSON text of an object. */
  readonly payload: string;
  readonly wake: boolean;
  /** Maximum wait for the wake, 0-30 000. */
  readonly waitMs: number;
}

/**
 * The values, or the fault in words for the caller. The payload is serialised again, then measured and sent: without the
 * caller's spaces, and with the last value of a repeated key.
 */
export function decodeMessageBody(body: Uint8Array): Result<MessageBody, string> {
  const object = parseJsonObject(body, 'message');
  if (!object.ok) return object;
  const deviceId = decodeDeviceId(object.value['device_id']);
  if (!deviceId.ok) return deviceId;
  const name = decodeName(object.value['name']);
  if (!name.ok) return name;
  const payload = decodePayload(object.value['payload']);
  if (!payload.ok) return payload;
  const { wake = false, wait = wakingSecondsDefault } = object.value;
  if (typeof wake !== 'boolean') return fail('wake must be true or false');
  if (typeof wait !== 'number' || !(wait >= 0 && wait <= longPollSecondsMax))
    return fail(`wait must be a number of seconds from 0 to ${longPollSecondsMax}`);
  const waitMs = Math.round(wait * 1000);
  return succeed({ deviceId: deviceId.value, name: name.value, payload: payload.value, wake, waitMs });
}

const nameForm = /^[a-z0-9_]+$/;

function decodeName(value: unknown): Result<string, string> {
  if (value === undefined) return fail('name is missing');
  if (typeof value !== 'string') return fail('name must be a string');
  return value.length <= messageNameCharactersMax && nameForm.test(value)
    ? succeed(value)
    : fail(`name must be 1-${messageNameCharactersMax} characters of a-z, 0-9 and _`);
}

function decodePayload(value: unknown): Result<string, string> {
  if (value === undefined) return fail('payload is missing');
  if (!isJsonObject(value)) return fail('payload must be a JSON object');
  const unsendable = findUnsendable(value);
  if (unsendable !== null) return fail(unsendable);
  const text = JSON.stringify(value);
  return utf8Length(text) <= messagePayloadBytesMax
    ? succeed(text)
    : fail(`payload must be at most ${messagePayloadBytesMax} bytes of JSON`);
}

/** Finds values that would reach the device changed, or overflow a recursive serialiser. Iterative for the same reason. */
function findUnsendable(payload: object): string | null {
  let level: unknown[] = [payload];
  for (let depth = 1; level.length > 0; depth += 1) {
    const inner: unknown[] = [];
    for (const value of level) {
      if (typeof value === 'number' && !Number.isFinite(value))
        return 'payload must not contain a number beyond the range of a double';
      if (typeof value !== 'object' || value === null) continue;
      if (depth > messagePayloadDepthMax)
        return `payload must be nested at most ${messagePayloadDepthMax} deep`;
      for (const each of Object.values(value)) inner.push(each);
    }
    level = inner;
  }
  return null;
}

export function encodeMessageReceipt({ deviceId, id, acknowledgedAtMs, wakeup }: MessageReceipt): string {
  const acknowledged_at = formatTimestamp(acknowledgedAtMs);
  const woken = wakeup === undefined ? {} : { wakeup: wakeup === null ? null : messageWakeupData(wakeup) };
  return JSON.stringify({ device_id: deviceId, id, acknowledged_at, ...woken });
}

/** JSON text; null: the refusal has no `data`. */
export function encodeMessageRefusal({ wakeup }: MessageRefusal): string | null {
  return wakeup === undefined ? null : JSON.stringify({ wakeup: messageWakeupData(wakeup) });
}

function messageWakeupData({ requestId, status, acceptedAtMs, wokeAfterMs }: MessageWakeup): object {
  return {
    request_id: requestId,
    status,
    accepted_at: timestampOrNull(acceptedAtMs),
    woke_after_ms: wokeAfterMs,
  };
}
