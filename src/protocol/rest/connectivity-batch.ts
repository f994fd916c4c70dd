/**
 * The batch of connectivity queries, POST /v1/devices/connectivity: body in, `data` out. Text is built per entry, since an
 * answer has hundreds. Source: API doc, Endpoint 1.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { codeTexts, type ConnectivityCode, type Refusal } from '../../model/codes.ts';
import type { ConnectivityRecord } from '../../model/connectivity.ts';
import { batchDevicesMax } from '../../model/limits.ts';
import { encodeRecordOf } from './device-requests.ts';
import { parseJsonObject } from './shared-fields.ts';

/**
 * The strings of `device_ids`, 1 to 500, or the fault in words for the caller. A string that is not a device id gets an error in
 * its own entry of the answer.
 */
export function decodeConnectivityBatchBody(body: Uint8Array): Result<readonly string[], string> {
  const object = parseJsonObject(body, 'connectivity-batch');
  if (!object.ok) return object;
  const ids = object.value['device_ids'];
  if (ids === undefined) return fail('device_ids is missing');
  if (!Array.isArray(ids)) return fail('device_ids must be an array');
  if (ids.length === 0 || ids.length > batchDevicesMax)
    return fail(`device_ids must contain 1-${batchDevicesMax} device ids`);
  const wrong = ids.findIndex((id) => typeof id !== 'string');
  return wrong === -1 ? succeed(ids as string[]) : fail(`device_ids[${wrong}] must be a string`);
}

/** Maximum UTF-8 bytes of one unit of a string (a surrogate pair has four). */
const utf8BytesPerUnitMax = 3;

const success = `,"code":0,"message":${JSON.stringify(codeTexts[0])},"data":`;

/** JSON text. `deviceId`: as requested. */
export function encodeConnectivityEntry(
  deviceId: string,
  answer: Result<ConnectivityRecord, Refusal<ConnectivityCode>>,
): string {
  const quotedId = JSON.stringify(deviceId);
  if (answer.ok) return `{"device_id":${quotedId}${success}${encodeRecordOf(quotedId, answer.value)}}`;
  const { code, message } = answer.error;
  return `{"device_id":${quotedId},"code":${code},"message":${JSON.stringify(message)}}`;
}

const opening = '{"devices":[';
const comma = 0x2c;

/**
 * The JSON text in UTF-8. Writing each entry separately costs half of joining them first. The buffer is not shared, so that it
 * can be transferred to another thread.
 */
export function encodeConnectivityBatch(entries: readonly string[]): Uint8Array {
  let bytesMax = opening.length + 2;
  for (const entry of entries) bytesMax += utf8BytesPerUnitMax * entry.length + 1;
  const bytes = Buffer.allocUnsafeSlow(bytesMax);
  let length = bytes.write(opening);
  for (const [place, entry] of entries.entries()) {
    if (place > 0) bytes[length++] = comma;
    length += bytes.write(entry, length);
  }
  length += bytes.write(']}', length);
  return bytes.subarray(0, length);
}
