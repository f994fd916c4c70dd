/**
 * `GET /v1/device/list` on the ops listener: a page of devices with the state of their connections, filtered by id prefix, part
 * of an id, label, product and state. In a cluster, the members that hold a session find the devices that sleep or are online.
 * For devices without a session, a page examines a limited number of devices, and `next` continues the search.
 */
import { SharedStateUnavailable } from '../../core/ports/session-locator.ts';
import { othersAlive } from '../../core/ports/peers.ts';
import type { MemberId } from '../../model/cluster.ts';
import { parseDeviceId, type DeviceId } from '../../model/ids.ts';
import { memberViewMsMax } from '../../model/limits.ts';
import { devicesAskedMax } from '../../model/provisioning-limits.ts';
import { readRoute, refuse, type AdminRoute } from '../ops/admin-route.ts';
import { compareIds } from './searched-devices.ts';
import {
  listDevice,
  listQuery,
  type DeviceListJson,
  type DeviceListRouteDeps,
  type ListedDeviceJson,
  type ListQuery,
} from './listed-device.ts';

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
