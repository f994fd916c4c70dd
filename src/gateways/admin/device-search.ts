/** A search among all devices by the index: by parts of their ids, labels and products, and by the states of their connections. */
import type { DeviceId } from '../../model/ids.ts';
import type { Device } from '../../model/registry.ts';
import {
  compareIds,
  firstBlock,
  textOfLabels,
  TurnPace,
  type DeviceBlock,
  type DeviceIndex,
} from './searched-devices.ts';
import {
  listDevice,
  type DeviceListJson,
  type DeviceListRouteDeps,
  type ListedDeviceJson,
  type ListedState,
  type ListQuery,
} from './listed-device.ts';

/** Online devices that are sorted by their ids; and actors between two looks at the time. */
const onlineSortedMax = 20_000;
const actorsPerLook = 1000;

/** The answer is for all devices: `next` is null where no other device matches. */
export async function searchDevices(
  deps: DeviceListRouteDeps,
  index: DeviceIndex,
  query: ListQuery,
): Promise<DeviceListJson> {
  const { prefix, after = '', limit, state } = query;
  const pace = new TurnPace(deps.clock);
  const online = state === 'online' ? await onlineDevices(deps, pace) : null;
  if (online !== null) return searchAmong(deps, online, query, pace);
  const blocks = await index.read(pace);
  const isWanted = rowTest(query);
  const from = compareIds(after, prefix) > 0 ? after : prefix;
  const found: ListedDeviceJson[] = [];
  for (let at = firstBlock(blocks, from); at < blocks.length; at += 1) {
    const block = blocks[at];
    if (block === undefined) break;
    if (prefix !== '' && compareIds(block.ids[0] ?? prefix, prefix) > 0 && !block.ids[0]?.startsWith(prefix))
      break;
    await pace.turn();
    for (let row = 0; row < block.ids.length; row += 1) {
      const id = block.ids[row];
      if (id === undefined || !isWanted(block, row) || !id.startsWith(prefix)) continue;
      if (state !== undefined && !mayBe(deps, index, block, row, state)) continue;
      if (after !== '' && compareIds(id, after) <= 0) continue;
      const device = deps.registry.peekDevice(id);
      if (device === null || !isWantedDevice(query, device)) continue;
      const listed = await listDevice(deps, device);
      if (state !== undefined && listed.state !== state) continue;
      if (found.length === limit) return { devices: found, next: found.at(-1)?.device_id ?? null };
      found.push(listed);
    }
  }
  return { devices: found, next: null };
}

async function searchAmong(
  deps: DeviceListRouteDeps,
  ids: readonly DeviceId[],
  query: ListQuery,
  pace: TurnPace,
): Promise<DeviceListJson> {
  const found: ListedDeviceJson[] = [];
  for (const id of ids) {
    await pace.turn();
    if (!id.startsWith(query.prefix) || (query.after !== undefined && compareIds(id, query.after) <= 0))
      continue;
    const device = deps.registry.peekDevice(id);
    if (device === null || !isWantedDevice(query, device)) continue;
    const listed = await listDevice(deps, device);
    if (listed.state !== query.state) continue;
    if (found.length === query.limit) return { devices: found, next: found.at(-1)?.device_id ?? null };
    found.push(listed);
  }
  return { devices: found, next: null };
}

type RowTest = (block: DeviceBlock, row: number) => boolean;

/** By the index alone, without the state. */
function rowTest({ contains, label, product_id: productId }: ListQuery): RowTest {
  const part = contains.toLowerCase();
  const labelText = label === undefined ? null : needleOf(label);
  return ({ ids, products, labels }, row) =>
    (productId === undefined || products[row] === productId) &&
    (part === '' || ids[row]?.toLowerCase().includes(part) === true) &&
    (labelText === null || labels[row]?.includes(labelText) === true);
}

/** The same by the entry as it is now. */
export function isWantedDevice(
  { contains, label, product_id: productId }: ListQuery,
  device: Device,
): boolean {
  return (
    (productId === undefined || device.productId === productId) &&
    device.deviceId.toLowerCase().includes(contains.toLowerCase()) &&
    (label === undefined || textOfLabels(device.labels).includes(needleOf(label)))
  );
}

/** `key=value`, or a key with any value. */
function needleOf(label: string): string {
  return label.includes('=') ? `\n${label}\n` : `\n${label}=`;
}

/** False: it is certainly in another state. Reads the store only for what is not known yet. */
function mayBe(
  deps: DeviceListRouteDeps,
  index: DeviceIndex,
  block: DeviceBlock,
  row: number,
  state: ListedState,
): boolean {
  const id = block.ids[row];
  if (id === undefined) return false;
  const known = index.connected(block, row);
  const isHeldState = state === 'asleep' || state === 'online';
  if (known >= 2) return known === 2 ? state === 'never' : isHeldState;
  const actor = deps.directory.find(id);
  const isHeld = actor !== null && (actor.epoch('sleep') > 0 || actor.epoch('signal') > 0);
  if (isHeld) block.connected[row] = 3;
  if (isHeld || isHeldState) return isHeld && isHeldState;
  if (known === 0) {
    const records = [deps.sleepRecords, deps.signalRecords];
    block.connected[row] = records.every((kind) => (kind.read(id)?.epoch ?? 0) === 0) ? 2 : 1;
  }
  return (block.connected[row] === 2) === (state === 'never');
}

/** Devices that are online, in the order of their ids; null: so many that a walk through all devices finds them sooner. */
async function onlineDevices(deps: DeviceListRouteDeps, pace: TurnPace): Promise<DeviceId[] | null> {
  const ids: DeviceId[] = [];
  let seen = 0;
  for (const actor of deps.directory.actors()) {
    seen += 1;
    if (seen % actorsPerLook === 0) await pace.turn();
    if (actor.epoch('signal') > 0) ids.push(actor.deviceId);
    if (ids.length > onlineSortedMax) return null;
  }
  return ids.sort(compareIds);
}
