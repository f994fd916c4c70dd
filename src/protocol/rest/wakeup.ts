/** POST /v1/device/wakeup-request: body in, `data` out. Source: API doc, Endpoint 2; decisions.md, Wakeup. */
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { CustomData } from '../../model/sleep.ts';
import type { WakeupReceipt } from '../../model/wakeup.ts';
import { decodeDeviceId } from './device-id.ts';
import { parseJsonObject } from './json-body.ts';
import { formatTimestamp } from './timestamp.ts';

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
