/** `device_id` wherever it comes from. Source: API doc, Device. */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { parseDeviceId, type DeviceId } from '../../model/ids.ts';
import { parseQuery } from './query.ts';

export function decodeDeviceId(value: unknown): Result<DeviceId, string> {
  if (value === undefined) return fail('device_id is missing');
  if (typeof value !== 'string') return fail('device_id must be a string');
  const deviceId = parseDeviceId(value);
  return deviceId === null ? fail('device_id must be 1-255 bytes of valid UTF-8') : succeed(deviceId);
}

/** Of a query that asks about one device and nothing else. */
export function decodeDeviceQuery(rawQuery: string): Result<DeviceId, string> {
  const query = parseQuery(rawQuery);
  return query.ok ? decodeDeviceId(query.value.get('device_id')) : query;
}
