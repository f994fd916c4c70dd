/**
 * POST /v1/device/message: body in, `data` out. The payload is measured and sent as it is serialised anew: without the
 * caller's spaces, and of a repeated key the last. Source: signal-wire.md, Sending a message.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { utf8Length } from '../../lib/utf8.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import {
  messageNameCharactersMax,
  messagePayloadBytesMax,
  messagePayloadDepthMax,
} from '../../model/limits.ts';
import type { MessageReceipt } from '../../model/message.ts';
import { decodeDeviceId, parseJsonObject, formatTimestamp } from './shared-fields.ts';

export interface MessageBody {
  readonly deviceId: DeviceId;
  readonly name: string;
  readonly payload: JsonObject;
}

/** The values, or what is wrong in words for the caller. */
export function decodeMessageBody(body: Uint8Array): Result<MessageBody, string> {
  const object = parseJsonObject(body);
  if (!object.ok) return object;
  const deviceId = decodeDeviceId(object.value['device_id']);
  if (!deviceId.ok) return deviceId;
  const name = decodeName(object.value['name']);
  if (!name.ok) return name;
  const payload = decodePayload(object.value['payload']);
  if (!payload.ok) return payload;
  return succeed({ deviceId: deviceId.value, name: name.value, payload: payload.value });
}

const nameForm = /^[a-z0-9_]+$/;

function decodeName(value: unknown): Result<string, string> {
  if (value === undefined) return fail('name is missing');
  if (typeof value !== 'string') return fail('name must be a string');
  return value.length <= messageNameCharactersMax && nameForm.test(value)
    ? succeed(value)
    : fail(`name must be 1-${messageNameCharactersMax} characters of a-z, 0-9 and _`);
}

function decodePayload(value: unknown): Result<JsonObject, string> {
  if (value === undefined) return fail('payload is missing');
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return fail('payload must be a JSON object');
  const unsendable = findUnsendable(value);
  if (unsendable !== null) return fail(unsendable);
  return utf8Length(JSON.stringify(value)) <= messagePayloadBytesMax
    ? succeed(value as JsonObject)
    : fail(`payload must be at most ${messagePayloadBytesMax} bytes of JSON`);
}

/** What would not reach the device as it was sent, or would overflow whoever serialises it. Without recursion. */
function findUnsendable(payload: object): string | null {
  let level: unknown[] = [payload];
  for (let depth = 1; level.length > 0; depth += 1) {
    const inner: unknown[] = [];
    for (const value of level) {
      if (typeof value === 'number' && !Number.isFinite(value))
        return 'payload must not hold a number beyond what a double can be';
      if (typeof value !== 'object' || value === null) continue;
      if (depth > messagePayloadDepthMax)
        return `payload must be nested at most ${messagePayloadDepthMax} deep`;
      for (const each of Object.values(value)) inner.push(each);
    }
    level = inner;
  }
  return null;
}

/** JSON text. */
export function encodeMessageReceipt({ deviceId, id, acknowledgedAtMs }: MessageReceipt): string {
  const acknowledgedAt = formatTimestamp(acknowledgedAtMs);
  return `{"device_id":${JSON.stringify(deviceId)},"id":"${id}","acknowledged_at":"${acknowledgedAt}"}`;
}
