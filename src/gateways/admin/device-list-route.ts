/**
 * `GET /v1/device/list` on the ops listener: a page of devices with the state of their connections, filtered by id prefix, part
 * of an id, label, product and state. In a cluster, the members that hold a session find the devices that sleep or are online.
 * For devices without a session, a page examines a limited number of devices, and `next` continues the search.
 */
import { z } from 'zod';
import { wallSeconds, type Clock } from '../../lib/clock.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { ClusterDeps } from '../../core/devices/locate-device.ts';
import type { RegistryReader } from '../../core/ports/registry-reader.ts';
import type { MemberId, SharedConnection } from '../../model/cluster.ts';
import { type DeviceId, parseDeviceId } from '../../model/ids.ts';
import { listedDevicesMax } from '../../model/console-limits.ts';
import { ownerQueryMsMax, memberViewMsMax } from '../../model/limits.ts';
import { listedStates, type ListedState } from '../../model/peer.ts';
import { isExpired, type Device } from '../../model/registry.ts';
import { compareIds, type DeviceSearch } from './device-search.ts';
import {
  observeHere,
  recordIn,
  type ObservedConnection,
  type ObservedConnections,
  type ObservedHere,
} from './device-routes.ts';
import { SharedStateUnavailable } from '../../core/ports/session-locator.ts';
import { othersAlive } from '../../core/ports/peers.ts';
import { devicesAskedMax } from '../../model/provisioning-limits.ts';
import { readRoute, refuse, type AdminRoute } from '../ops/admin-route.ts';

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

const askedAtOnce = 50;

export function deviceListRoute(deps: DeviceListRouteDeps): AdminRoute {
  return readRoute('/v1/device/list', listQuery, async (query) => {
    if (query.after !== undefined && parseDeviceId(query.after) === null)
      return refuse(400, 'after: 1-255 bytes of valid UTF-8');
    try {
      return await listDevices(deps, query);
    } catch (error) {
      if (!(error instanceof SharedStateUnavailable)) throw error;
      return refuse(
        503,
        'the states of devices are unavailable: NATS does not answer; check it with reveille doctor',
      );
    }
  });
}

async function listDevices(deps: DeviceListRouteDeps, query: ListQuery): Promise<DeviceListJson> {
  const { limit, state } = query;
  const isHeld = state === 'asleep' || state === 'online';
  // No single member can know that no member holds a device.
  const isLookedFor = deps.cluster !== null && state !== undefined && !isHeld;
  const looked = isLookedFor ? { ...query, state: undefined, limit: devicesAskedMax } : query;
  const { ids, silent } = await findIds(deps, looked, isHeld);
  const devices: ListedDeviceJson[] = [];
  for (let start = 0; start < Math.min(ids.length, looked.limit); start += askedAtOnce) {
    const some = ids.slice(start, Math.min(start + askedAtOnce, looked.limit));
    const found = some.map((id) => deps.registry.peekDevice(id)).filter((device) => device !== null);
    for (const listed of await Promise.all(found.map((device) => listDevice(deps, device)))) {
      if (state !== undefined && listed.state !== state) continue;
      if (devices.length === limit) return { devices, next: devices.at(-1)?.device_id ?? null, silent };
      devices.push(listed);
    }
  }
  return { devices, next: ids.length > looked.limit ? (ids[looked.limit - 1] ?? null) : null, silent };
}

/** The first matching devices, up to one more than requested, from this member or, with `isHeld`, from all live members. */
async function findIds(
  { search, cluster }: DeviceListRouteDeps,
  sought: ListQuery,
  isHeld: boolean,
): Promise<{ readonly ids: readonly DeviceId[]; readonly silent: readonly MemberId[] }> {
  const silent: MemberId[] = [];
  const others = cluster === null || !isHeld ? [] : othersAlive(cluster.peers);
  const asked = others.map(async (member) => {
    const question = { kind: 'held-devices', sought } as const;
    const answer = await cluster?.peers.ask<'held-devices'>(member, question, memberViewMsMax);
    if (answer?.ok === true) return answer.value;
    silent.push(member);
    return [];
  });
  const all = (await Promise.all([search.find(sought), ...asked])).flat();
  return { ids: [...new Set(all)].sort(compareIds).slice(0, sought.limit + 1), silent };
}
