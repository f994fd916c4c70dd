/**
 * `GET /v1/device/list` on the ops listener: a page of the registry's devices with the state of their connections, by the
 * beginning of their ids, a product and a state. The registry has no index by either of the two: a page looks at so many
 * devices at most, and ends where it has to, with the place to go on from.
 */
import { z } from 'zod';
import { nextTurn, wallSeconds, type Clock } from '../../lib/clock.ts';
import type { ClusterDeps } from '../../core/devices/locate-device.ts';
import type { DeviceLister } from '../../core/ports/device-registry.ts';
import { SharedStateUnavailable } from '../../core/ports/session-locator.ts';
import type { SharedConnection } from '../../model/cluster.ts';
import { parseDeviceId, type DeviceId } from '../../model/ids.ts';
import { ownerQueryMsMax } from '../../model/limits.ts';
import { devicesAskedMax } from '../../model/provisioning-limits.ts';
import { isExpired, type Device } from '../../model/registry.ts';
import { readRoute, refuse, type AdminRoute } from '../ops/admin-route.ts';
import {
  observeHere,
  recordIn,
  type ObservedConnection,
  type ObservedConnections,
  type ObservedHere,
} from './device-routes.ts';

/** `asleep`: its module is connected; `online`: its controller is, whatever the module; `offline`: neither is. */
const deviceStates = ['online', 'asleep', 'offline', 'never'] as const;
export type ListedState = (typeof deviceStates)[number];

export interface DeviceListJson {
  readonly devices: readonly ListedDeviceJson[];
  /** The `after` of the next page; null: there are no more. */
  readonly next: string | null;
}

export interface DeviceListRouteDeps extends ObservedHere {
  readonly clock: Clock;
  readonly registry: DeviceLister;
  /** Null: alone. */
  readonly cluster: Pick<ClusterDeps, 'locator'> | null;
}

const pageMax = 200;
/** Devices that one page looks at, and how many in one turn of the loop: about 2 ms. */
const lookedAtMax = 5000;
const sliceDevices = 200;
/** Devices whose rows are read at once; and in one page, where that may take asking NATS. */
const askedAtOnce = 50;
const askedMax = devicesAskedMax;

const listQuery = z.strictObject({
  prefix: z.string().max(255).default(''),
  product_id: z.string().min(1).optional(),
  state: z.enum(deviceStates).optional(),
  after: z.string().min(1).max(255).optional(),
  limit: z.coerce.number().int().min(1).max(pageMax).default(50),
});
type ListQuery = z.output<typeof listQuery>;

export function deviceListRoute(deps: DeviceListRouteDeps): AdminRoute {
  return readRoute('/v1/device/list', listQuery, async (query) => {
    if (query.after !== undefined && parseDeviceId(query.after) === null)
      return refuse(400, 'after: 1-255 bytes of valid UTF-8');
    try {
      return await readPage(deps, query);
    } catch (error) {
      if (!(error instanceof SharedStateUnavailable)) throw error;
      return refuse(
        503,
        'where devices are cannot be told now: NATS does not answer; reveille doctor asks it',
      );
    }
  });
}

async function readPage(deps: DeviceListRouteDeps, query: ListQuery): Promise<DeviceListJson> {
  const { prefix, product_id: productId, state, limit } = query;
  const found: ListedDeviceJson[] = [];
  let after = query.after ?? null;
  let asked = 0;
  for (let lookedAt = 0; lookedAt < lookedAtMax; lookedAt += sliceDevices) {
    if (lookedAt > 0) await nextTurn();
    const slice = deps.registry.devicesBehind(after, prefix, sliceDevices);
    for (let start = 0; start < slice.length; start += askedAtOnce) {
      if (deps.cluster !== null && asked >= askedMax) return { devices: found, next: after };
      const some = slice.slice(start, start + askedAtOnce);
      const wanted = some.filter((device) => productId === undefined || device.productId === productId);
      const listed = await Promise.all(wanted.map((device) => listDevice(deps, device)));
      asked += wanted.length;
      for (const each of listed) {
        if (state !== undefined && each.state !== state) continue;
        if (found.length === limit) return { devices: found, next: found.at(-1)?.device_id ?? null };
        found.push(each);
      }
      after = some.at(-1)?.deviceId ?? after;
    }
    if (slice.length < sliceDevices) return { devices: found, next: null };
  }
  return { devices: found, next: after };
}

export type ListedDeviceJson = Awaited<ReturnType<typeof listDevice>>;

async function listDevice(deps: DeviceListRouteDeps, device: Device) {
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
    // Unix seconds of the latest login, heartbeat or end that is written down; null: it was never connected.
    last_seen_at: seenAt === 0 ? null : seenAt,
  };
}

function stateOf(sleep: ObservedConnection, signal: ObservedConnection): ListedState {
  if (signal.isHeld) return 'online';
  if (sleep.isHeld) return 'asleep';
  return sleep.record.epoch + signal.record.epoch === 0 ? 'never' : 'offline';
}

/** By the shared row alone: no member is asked, and heartbeats are as they were last written. */
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
