/** GET /v1/device/status?device_id=… on the ops listener: what this server knows of one device now. */
import type { Clock } from '../../lib/clock.ts';
import { settlesWithin } from '../../lib/settles-within.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import { parseDeviceId, type DeviceId } from '../../model/ids.ts';
import type { ClusterDeps } from '../../core/devices/locate-device.ts';
import type { AdminReply, AdminRoute } from '../ops/admin-route.ts';
import type { ConnectionRecords } from '../../core/ports/connection-records.ts';
import type { EventLog } from '../../core/ports/event-log.ts';
import type { RegistryReader } from '../../core/ports/registry-reader.ts';
import { describeDevice, type DeviceStatus, type ObservedConnection } from './device-status.ts';
import { observeTogether } from './observed-together.ts';

export interface StatusDeps {
  readonly clock: Clock;
  readonly registry: RegistryReader;
  readonly directory: DeviceDirectory;
  readonly signalRecords: ConnectionRecords;
  readonly sleepRecords: ConnectionRecords;
  readonly events: EventLog;
  /** Null: alone. */
  readonly cluster: ClusterDeps | null;
}

/** What happened is told once it is committed; a store that takes nothing must not hide what is observed. */
const commitMsMax = 2000;

export function statusRoutes(deps: StatusDeps): readonly AdminRoute[] {
  return [{ method: 'GET', path: '/v1/device/status', handle: ({ query }) => answer(deps, query) }];
}

async function answer(deps: StatusDeps, query: URLSearchParams): Promise<AdminReply> {
  const deviceId = parseDeviceId(query.get('device_id') ?? '');
  if (deviceId === null) return { status: 400, body: { error: 'device_id: 1-255 bytes of valid UTF-8' } };
  await settlesWithin(deps.clock, commitMsMax, bothCommitted(deps, deviceId));
  const { registry, directory, cluster, events } = deps;
  const device = registry.findDevice(deviceId);
  if (device === null)
    return { status: 404, body: { error: `no device ${JSON.stringify(deviceId)} in the registry` } };
  const connections =
    cluster === null ? observe(deps, deviceId) : await observeTogether(cluster, directory, deviceId);
  const body: DeviceStatus = describeDevice({ device, events, nowMs: deps.clock.wallMs(), ...connections });
  return { status: 200, body };
}

async function bothCommitted(deps: StatusDeps, deviceId: DeviceId): Promise<void> {
  await deps.signalRecords.committed(deviceId);
  await deps.sleepRecords.committed(deviceId);
}

function observe(deps: StatusDeps, deviceId: DeviceId): Record<ConnectionKind, ObservedConnection> {
  const actor = deps.directory.find(deviceId);
  return {
    signal: {
      record: deps.signalRecords.read(deviceId),
      isHeld: actor !== null && actor.signalEpoch > 0,
      heartbeatAt: actor?.signalHeartbeatAt ?? 0,
    },
    sleep: {
      record: deps.sleepRecords.read(deviceId),
      isHeld: actor !== null && actor.sleepEpoch > 0,
      heartbeatAt: actor?.sleepHeartbeatAt ?? 0,
    },
  };
}
