/**
 * `GET /v1/device/list` on the ops listener: a page of the registry's devices with the state of their connections, by the
 * beginning of their ids or a part of them, a label, a product and a state. A search answers for all devices by an index in
 * memory. Where there are several members it looks at so many devices at most, and ends where it has to, with the place to go on
 * from.
 */
import { nextTurn } from '../../lib/clock.ts';
import { SerialQueue } from '../../lib/queues.ts';
import { SharedStateUnavailable } from '../../core/ports/session-locator.ts';
import { parseDeviceId } from '../../model/ids.ts';
import { devicesAskedMax } from '../../model/provisioning-limits.ts';
import { readRoute, refuse, type AdminRoute } from '../ops/admin-route.ts';
import { DeviceIndex } from './searched-devices.ts';
import { isWantedDevice, searchDevices } from './device-search.ts';
import {
  listDevice,
  listQuery,
  type DeviceListJson,
  type DeviceListRouteDeps,
  type ListedDeviceJson,
  type ListQuery,
} from './listed-device.ts';

/** Devices that one page looks at, and how many in one turn of the loop: about 2 ms. */
const lookedAtMax = 5000;
const sliceDevices = 200;
/** Devices whose rows are read at once; and in one page, where that may take asking NATS. */
const askedAtOnce = 50;
const askedMax = devicesAskedMax;

export function deviceListRoute(deps: DeviceListRouteDeps): AdminRoute {
  const index = new DeviceIndex(deps);
  const searches = new SerialQueue();
  const search = (query: ListQuery): Promise<DeviceListJson> =>
    searches.run(() => searchDevices(deps, index, query));
  return readRoute('/v1/device/list', listQuery, async (query) => {
    if (query.after !== undefined && parseDeviceId(query.after) === null)
      return refuse(400, 'after: 1-255 bytes of valid UTF-8');
    try {
      return await (isSearch(query) && deps.cluster === null ? search(query) : readPage(deps, query));
    } catch (error) {
      if (!(error instanceof SharedStateUnavailable)) throw error;
      return refuse(
        503,
        'where devices are cannot be told now: NATS does not answer; reveille doctor asks it',
      );
    }
  });
}

/** More than the beginning of ids is asked for. */
function isSearch({ contains, label, product_id: productId, state }: ListQuery): boolean {
  return contains !== '' || [label, productId, state].some((given) => given !== undefined);
}

async function readPage(deps: DeviceListRouteDeps, query: ListQuery): Promise<DeviceListJson> {
  const { prefix, state, limit } = query;
  const found: ListedDeviceJson[] = [];
  let after = query.after ?? null;
  let asked = 0;
  for (let lookedAt = 0; lookedAt < lookedAtMax; lookedAt += sliceDevices) {
    if (lookedAt > 0) await nextTurn();
    const slice = deps.registry.devicesBehind(after, prefix, sliceDevices);
    for (let start = 0; start < slice.length; start += askedAtOnce) {
      if (deps.cluster !== null && asked >= askedMax) return { devices: found, next: after };
      const some = slice.slice(start, start + askedAtOnce);
      const wanted = some.filter((device) => isWantedDevice(query, device));
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
