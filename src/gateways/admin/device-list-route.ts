/**
 * `GET /v1/device/list` on the ops listener: a page of the registry's devices with the state of their connections, by the
 * beginning of their ids or a part of them, a label, a product and a state, of all devices. Where there are several members, those
 * that are asleep or online are found by the members that hold them; of those that no member holds a page looks at so many, and
 * has the place to go on from.
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

/** Devices whose rows are read at once. */
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
        'where devices are cannot be told now: NATS does not answer; reveille doctor asks it',
      );
    }
  });
}

async function listDevices(deps: DeviceListRouteDeps, query: ListQuery): Promise<DeviceListJson> {
  const { limit, state } = query;
  const isHeld = state === 'asleep' || state === 'online';
  // No member knows by itself that a device is held by none.
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

/** The first devices that match, one more than asked for, by this member and, where `isHeld`, by all that live. */
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
