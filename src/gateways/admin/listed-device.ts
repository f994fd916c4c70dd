/** A device in an operator's list: its entry, the state of its connections, and when it was last seen. */
import { z } from 'zod';
import { wallSeconds, type Clock } from '../../lib/clock.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { ClusterDeps } from '../../core/devices/locate-device.ts';
import type { RegistryReader } from '../../core/ports/registry-reader.ts';
import type { MemberId, SharedConnection } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';
import { listedDevicesMax } from '../../model/console-limits.ts';
import { ownerQueryMsMax } from '../../model/limits.ts';
import { listedStates, type ListedState } from '../../model/peer.ts';
import { isExpired, type Device } from '../../model/registry.ts';
import type { DeviceSearch } from './device-search.ts';
import {
  observeHere,
  recordIn,
  type ObservedConnection,
  type ObservedConnections,
  type ObservedHere,
} from './device-routes.ts';

export interface DeviceListJson {
  readonly devices: readonly ListedDeviceJson[];
  /** The `after` of the next page; null: this was the last. */
  readonly next: string | null;
  /** Members that did not answer; devices that they hold may be missing. */
  readonly silent: readonly MemberId[];
}

export interface DeviceListRouteDeps extends ObservedHere {
  readonly directory: Pick<DeviceDirectory, 'find'>;
  readonly clock: Clock;
  readonly registry: Pick<RegistryReader, 'peekDevice'>;
  readonly search: Pick<DeviceSearch, 'find'>;
  /** Null: a single server. */
  readonly cluster: Pick<ClusterDeps, 'locator' | 'peers'> | null;
}

export const listQuery = z.strictObject({
  prefix: z.string().max(255).default(''),
  contains: z.string().max(255).default(''),
  label: z.string().min(1).max(330).optional(),
  product_id: z.string().min(1).optional(),
  state: z.enum(listedStates).optional(),
  after: z.string().min(1).max(255).optional(),
  limit: z.coerce.number().int().min(1).max(listedDevicesMax).default(50),
});
export type ListQuery = z.output<typeof listQuery>;

export type ListedDeviceJson = Awaited<ReturnType<typeof listDevice>>;

export async function listDevice(deps: DeviceListRouteDeps, device: Device) {
  const { sleep, signal } =
    deps.cluster === null
      ? observeHere(deps, device.deviceId)
      : await observeRow(deps.cluster, device.deviceId);
  const seenAt = Math.max(seenAtOf(sleep), seenAtOf(signal));
  return {
    device_id: device.deviceId,
    product_id: device.productId,
    disabled: device.disabled,
    expired: isExpired(device, wallSeconds(deps.clock)),
    labels: device.labels ?? {},
    state: stateOf(sleep, signal),
    // Unix seconds of the latest recorded login, heartbeat or end; null: never connected.
    last_seen_at: seenAt === 0 ? null : seenAt,
  };
}

function stateOf(sleep: ObservedConnection, signal: ObservedConnection): ListedState {
  if (signal.isHeld) return 'online';
  if (sleep.isHeld) return 'asleep';
  return sleep.record.epoch + signal.record.epoch === 0 ? 'never' : 'offline';
}

/** Reads only the shared row: no member is asked, and heartbeats are as last written. */
async function observeRow(
  { locator }: Pick<ClusterDeps, 'locator'>,
  deviceId: DeviceId,
): Promise<ObservedConnections> {
  const row = await locator.find(deviceId, ownerQueryMsMax);
  const observe = (connection: SharedConnection): ObservedConnection => {
    const record = recordIn(connection);
    return { record, isHeld: record.openSession !== null, heartbeatAt: 0 };
  };
  return { sleep: observe(row.sleep), signal: observe(row.signal) };
}

function seenAtOf({ record, heartbeatAt }: ObservedConnection): number {
  const { lastLoginAt, lastHeartbeatAt, lastOfflineAt } = record;
  return Math.max(heartbeatAt, lastLoginAt ?? 0, lastHeartbeatAt ?? 0, lastOfflineAt ?? 0);
}
