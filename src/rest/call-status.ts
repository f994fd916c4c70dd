/** GET /v1/device/msgvoip-call-status: query in, `data` out. Source: API doc, Endpoint 3 and Call status record. */
import type { Outcome } from '../base/outcome.ts';
import type { DeviceId } from '../domain/ids.ts';
import { decodeDeviceId } from './device-id.ts';
import { parseQuery } from './query.ts';

export function decodeCallStatusQuery(rawQuery: string): Outcome<DeviceId, string> {
  const query = parseQuery(rawQuery);
  return query.ok ? decodeDeviceId(query.value.get('device_id')) : query;
}

/** JSON text. */
export function encodeCallStatus(isInCall: boolean): string {
  return `{"in_call":${isInCall}}`;
}
