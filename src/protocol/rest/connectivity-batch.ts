/**
 * The batch of connectivity queries, POST /v1/devices/connectivity: body in, `data` out. Source: API doc, Endpoint 1.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { codeTexts, type ConnectivityCode, type Refusal } from '../../model/codes.ts';
import type { ConnectionTimes, ConnectivityRecord } from '../../model/connectivity.ts';
import { batchDevicesMax } from '../../model/limits.ts';
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

type ConnectivityAnswer = Result<ConnectivityRecord, Refusal<ConnectivityCode>>;

/** Maximum UTF-8 bytes of one unit of a string in JSON: an escape. */
const unitBytesMax = 6;
/** Maximum bytes of an entry without its two ids, and without the message of a refusal. */
const entryBytesMax = 400;

/**
 * The JSON text in UTF-8: an entry for each answer, with the id as requested. Strings that are joined cost twice as much, and leave a
 * kilobyte of garbage for each device. The buffer is not shared, so that it can be transferred to another thread.
 */
export function encodeConnectivityBatch(
  deviceIds: readonly string[],
  answers: readonly ConnectivityAnswer[],
): Uint8Array {
  let bytesMax = 0;
  for (const [place, answer] of answers.entries()) {
    const units = 2 * (deviceIds[place]?.length ?? 0) + (answer.ok ? 0 : answer.error.message.length);
    bytesMax += entryBytesMax + unitBytesMax * units;
  }
  const writer = new EntryWriter(bytesMax + entryBytesMax);
  writer.put(opening);
  for (const [place, answer] of answers.entries()) {
    if (place > 0) writer.put(comma);
    writer.putEntry(deviceIds[place] ?? '', answer);
  }
  writer.put(closing);
  return writer.bytes;
}

const opening = Buffer.from('{"devices":[');
const comma = Buffer.from(',');
const closing = Buffer.from(']}');
const idKey = Buffer.from('{"device_id":');
const success = Buffer.from(`,"code":0,"message":${JSON.stringify(codeTexts[0])},"data":{"device_id":`);
const online = Buffer.from(',"signal":{"is_online":true,');
const offline = Buffer.from(',"signal":{"is_online":false,');
const asleep = Buffer.from('},"sleep":{');
const entryEnd = Buffer.from('}}}');
const neverSeen = Buffer.from('"last_login_at":null,"last_heartbeat_at":null,"last_offline_at":null');
const loginKey = Buffer.from('"last_login_at":');
const heartbeatKey = Buffer.from(',"last_heartbeat_at":');
const offlineKey = Buffer.from(',"last_offline_at":');
const none = Buffer.from('null');

const quote = 0x22;
const backslash = 0x5c;
const [firstPrintable, lastPrintable] = [0x20, 0x7e];
const zero = 0x30;
const secondsDigits = 10;
const [tenDigitsMin, wordMax] = [1_000_000_000, 0x7fff_ffff];

/** Its callers ensure that the buffer has room. */
class EntryWriter {
  readonly #bytes: Buffer;
  #length = 0;

  constructor(bytesMax: number) {
    this.#bytes = Buffer.allocUnsafeSlow(bytesMax);
  }

  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  put(part: Uint8Array): void {
    this.#bytes.set(part, this.#length);
    this.#length += part.length;
  }

  putEntry(deviceId: string, answer: ConnectivityAnswer): void {
    this.put(idKey);
    this.#putString(deviceId);
    if (!answer.ok) {
      const { code, message } = answer.error;
      return this.#putText(`,"code":${code},"message":${JSON.stringify(message)}}`);
    }
    const { signal, sleep } = answer.value;
    this.put(success);
    this.#putString(deviceId);
    this.put(signal.isOnline ? online : offline);
    this.#putTimes(signal);
    this.put(asleep);
    this.#putTimes(sleep);
    this.put(entryEnd);
  }

  #putTimes({ lastLoginAt, lastHeartbeatAt, lastOfflineAt }: ConnectionTimes): void {
    if (lastLoginAt === null && lastHeartbeatAt === null && lastOfflineAt === null)
      return this.put(neverSeen);
    this.put(loginKey);
    this.#putSeconds(lastLoginAt);
    this.put(heartbeatKey);
    this.#putSeconds(lastHeartbeatAt);
    this.put(offlineKey);
    this.#putSeconds(lastOfflineAt);
  }

  #putText(text: string): void {
    this.#length += this.#bytes.write(text, this.#length);
  }

  /** Nearly all ids are printable ASCII without a character that JSON escapes. */
  #putString(text: string): void {
    const bytes = this.#bytes;
    let at = this.#length;
    bytes[at++] = quote;
    for (let unit = 0; unit < text.length; unit++) {
      const code = text.charCodeAt(unit);
      if (code < firstPrintable || code > lastPrintable || code === quote || code === backslash)
        return this.#putText(JSON.stringify(text));
      bytes[at++] = code;
    }
    bytes[at++] = quote;
    this.#length = at;
  }

  #putSeconds(seconds: number | null): void {
    if (seconds === null) return this.put(none);
    if (seconds < tenDigitsMin || seconds > wordMax) return this.#putText(`${seconds}`);
    let left = seconds;
    for (let place = secondsDigits - 1; place >= 0; place--) {
      const rest = (left / 10) | 0;
      this.#bytes[this.#length + place] = zero + left - 10 * rest;
      left = rest;
    }
    this.#length += secondsDigits;
  }
}
