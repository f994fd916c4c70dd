/**
 * The body of POST /v1/device/msgvoip-call/end and `data` of its answer. In an optional field `""` and `null` count as omitted,
 * as in the request for credentials. Source: calls-and-media.md, Call sessions and call status.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { utf8Length } from '../../lib/utf8.ts';
import { orderedEndReasons, type CallEnd, type CallName, type OrderedEndReason } from '../../model/call.ts';
import { parseSessionId, type DeviceId } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import { roomIdBytesMax } from '../../model/limits.ts';
import { decodeDeviceId, formatTimestamp, isBlank, parseJsonObject } from './shared-fields.ts';

export interface CallEndBody {
  readonly deviceId: DeviceId;
  readonly call: CallName;
  readonly reason: OrderedEndReason;
}

export function decodeCallEndBody(body: Uint8Array): Result<CallEndBody, string> {
  const object = parseJsonObject(body, 'call-end');
  if (!object.ok) return object;
  const deviceId = decodeDeviceId(object.value['device_id']);
  if (!deviceId.ok) return deviceId;
  const call = decodeCallName(object.value);
  if (!call.ok) return call;
  const reason = decodeReason(object.value['reason']);
  if (!reason.ok) return reason;
  return succeed({ deviceId: deviceId.value, call: call.value, reason: reason.value });
}

function decodeCallName({ session, msg_room_id: room }: JsonObject): Result<CallName, string> {
  if (isBlank(session) === isBlank(room)) return fail('exactly one of session and msg_room_id must be given');
  return isBlank(room) ? decodeSession(session) : decodeRoom(room);
}

function decodeSession(value: unknown): Result<CallName, string> {
  const sessionId = typeof value === 'string' ? parseSessionId(value) : null;
  return sessionId === null
    ? fail('session must be a string of 1-128 visible ASCII characters')
    : succeed({ kind: 'session', sessionId });
}

function decodeRoom(value: unknown): Result<CallName, string> {
  return typeof value === 'string' && utf8Length(value) <= roomIdBytesMax
    ? succeed({ kind: 'room', roomId: value })
    : fail(`msg_room_id must be a string of 1-${roomIdBytesMax} bytes`);
}

function decodeReason(value: unknown): Result<OrderedEndReason, string> {
  if (isBlank(value)) return succeed('cancelled');
  const reason = orderedEndReasons.find((known) => known === value);
  return reason === undefined ? fail(`reason must be ${orderedEndReasons.join(' or ')}`) : succeed(reason);
}

export function encodeCallEnd({ deviceId, sessionId, reason, endedAtMs }: CallEnd): string {
  return JSON.stringify({
    device_id: deviceId,
    session: sessionId,
    state: 'ended',
    reason,
    ended_at: formatTimestamp(endedAtMs),
  });
}
