/** `device_id` wherever it comes from. Source: API doc, Device. */
import { fail, succeed, type Outcome } from '../base/outcome.ts';
import { parseDeviceId, type DeviceId } from '../domain/ids.ts';

export function decodeDeviceId(value: unknown): Outcome<DeviceId, string> {
  if (value === undefined) return fail('device_id is missing');
  if (typeof value !== 'string') return fail('device_id must be a string');
  const deviceId = parseDeviceId(value);
  return deviceId === null ? fail('device_id must be 1-255 bytes of valid UTF-8') : succeed(deviceId);
}
