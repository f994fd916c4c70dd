/** GET /v1/device/status?device_id=… on the ops listener: what this server knows of one device now. */
import type { Clock } from '../../lib/clock.ts';
import { settlesWithin } from '../../lib/settles-within.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import { parseDeviceId, type DeviceId } from '../../model/ids.ts';
import type { ClusterHouse } from '../../core/devices/locate-device.ts';
import type { AdminReply, AdminRoute } from '../ops/admin-route.ts';
import type { ConnectionRecords } from '../../core/ports/connection-records.ts';
import type { EventLog } from '../../core/ports/event-log.ts';
import type { RegistryReader } from '../../core/ports/registry-reader.ts';
import { describeDevice, type DeviceStatus, type ObservedConnection } from './device-status.ts';
import { observeTogether } from './observed-together.ts';

export interface StatusHouse {
  readonly clock: Clock;
  readonly registry: RegistryReader;
  readonly directory: DeviceDirectory;
  readonly signalRecords: ConnectionRecords;
  readonly sleepRecords: ConnectionRecords;
  readonly events: EventLog;
  /** Null: alone. */
  readonly cluster: ClusterHouse | null;
}

/** What happened is told once it is committed; a store that takes nothing must not hide what is observed. */
const commitMsMax = 2000;

export function statusRoutes(house: StatusHouse): readonly AdminRoute[] {
  return [{ method: 'GET', path: '/v1/device/status', handle: ({ query }) => answer(house, query) }];
}

async function answer(house: StatusHouse, query: URLSearchParams): Promise<AdminReply> {
  const deviceId = parseDeviceId(query.get('device_id') ?? '');
  if (deviceId === null) return { status: 400, body: { error: 'device_id: 1-255 bytes of valid UTF-8' } };
  await settlesWithin(house.clock, commitMsMax, bothCommitted(house, deviceId));
  const { registry, directory, cluster, events } = house;
  const device = registry.findDevice(deviceId);
  if (device === null)
    return { status: 404, body: { error: `no device ${JSON.stringify(deviceId)} in the registry` } };
  const connections =
    cluster === null ? observe(house, deviceId) : await observeTogether(cluster, directory, deviceId);
  const body: DeviceStatus = describeDevice({ device, events, nowMs: house.clock.wallMs(), ...connections });
  return { status: 200, body };
}

async function bothCommitted(house: StatusHouse, deviceId: DeviceId): Promise<void> {
  await house.signalRecords.committed(deviceId);
  await house.sleepRecords.committed(deviceId);
}

function observe(house: StatusHouse, deviceId: DeviceId): Record<ConnectionKind, ObservedConnection> {
  const actor = house.directory.find(deviceId);
  return {
    signal: {
      record: house.signalRecords.read(deviceId),
      isHeld: actor !== null && actor.signalEpoch > 0,
      heartbeatAt: actor?.signalHeartbeatAt ?? 0,
    },
    sleep: {
      record: house.sleepRecords.read(deviceId),
      isHeld: actor !== null && actor.sleepEpoch > 0,
      heartbeatAt: actor?.sleepHeartbeatAt ?? 0,
    },
  };
}
