/**
 * `data` of GET /v1/device/connectivity and of GET /v1/device/msgvoip-call-status.
 * Source: API doc, Endpoints 1 and 3, Connectivity record, Call status record.
 */
import type { ConnectionTimes, ConnectivityRecord } from '../../model/connectivity.ts';

/** JSON text: written by hand because this answer is the hottest, and three shapes are all there is to it. */
export function encodeConnectivityRecord(record: ConnectivityRecord): string {
  const { deviceId, signal, sleep } = record;
  return (
    `{"device_id":${JSON.stringify(deviceId)},` +
    `"signal":{"is_online":${signal.isOnline},${encodeTimes(signal)}},"sleep":{${encodeTimes(sleep)}}}`
  );
}

function encodeTimes(times: ConnectionTimes): string {
  return (
    `"last_login_at":${times.lastLoginAt},"last_heartbeat_at":${times.lastHeartbeatAt},` +
    `"last_offline_at":${times.lastOfflineAt}`
  );
}

/** JSON text. */
export function encodeCallStatus(isInCall: boolean): string {
  return `{"in_call":${isInCall}}`;
}
