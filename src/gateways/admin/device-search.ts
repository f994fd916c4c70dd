/** Searches all devices through the index: by part of their id, label, product, and the state of their connections here. */
import { nextTurn, type Clock } from '../../lib/clock.ts';
import { SerialQueue } from '../../lib/collections/queues.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { RegistryReader } from '../../core/ports/registry-reader.ts';
import { deviceSearchTurnMs } from '../../model/console-limits.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { ListedState } from '../../model/peer.ts';
import type { SoughtDevices } from '../../protocol/cluster/peer-message.ts';
import type { Device } from '../../model/registry.ts';
import { compareIds, textOfLabels, type DeviceIndex, type DeviceRows } from './searched-devices.ts';

export interface DeviceSearchDeps {
  readonly clock: Clock;
  readonly registry: Pick<RegistryReader, 'peekDevice'>;
  readonly directory: Pick<DeviceDirectory, 'find'>;
  readonly index: Pick<DeviceIndex, 'block'>;
}

export type DeviceSearch = ReturnType<typeof deviceSearch>;

/** One search at a time; concurrent ones would block the event loop for longer. */
export function deviceSearch(deps: DeviceSearchDeps) {
  const searches = new SerialQueue();
  return {
    /**
     * The ids of the first matching devices, sorted, up to one more than requested. A state is judged by the sessions and the
     * records of this process. Rejects if the store cannot be read.
     */
    find: (query: SoughtDevices): Promise<readonly DeviceId[]> =>
      searches.run(() => searchDevices(deps, query)),
  };
}

async function searchDevices(deps: DeviceSearchDeps, query: SoughtDevices): Promise<readonly DeviceId[]> {
  const { clock, index, registry } = deps;
  const { prefix, after, limit, state } = query;
  const isWanted = rowTest(query);
  const found: DeviceId[] = [];
  let from = after === undefined || compareIds(after, prefix) < 0 ? prefix : idBehind(after);
  for (let begunMs = clock.monotonicMs(); ;) {
    if (clock.monotonicMs() - begunMs >= deviceSearchTurnMs) {
      await nextTurn();
      begunMs = clock.monotonicMs();
    }
    const { rows, lastId } = index.block(from);
    const { ids } = rows;
    const first = ids.findIndex((id) => compareIds(id, from) >= 0);
    for (let row = first < 0 ? ids.length : first; row < ids.length; row += 1) {
      const id = ids[row];
      if (id === undefined || !id.startsWith(prefix)) return found;
      if (!isWanted(rows, row) || (state !== undefined && stateOf(deps, rows, row) !== state)) continue;
      const device = registry.peekDevice(id);
      if (device === null || !isWantedDevice(query, device)) continue;
      if (found.push(id) > limit) return found;
    }
    if (lastId === '') return found;
    from = idBehind(lastId);
  }
}

/** The smallest id greater than `id`. */
function idBehind(id: string): string {
  return `${id}\0`;
}

type RowTest = (rows: DeviceRows, row: number) => boolean;

function rowTest({ contains, label, product_id: productId }: SoughtDevices): RowTest {
  const part = contains.toLowerCase();
  const labelText = label === undefined ? null : needleOf(label);
  return ({ ids, products, labels }, row) =>
    (productId === undefined || products[row] === productId) &&
    (part === '' || ids[row]?.toLowerCase().includes(part) === true) &&
    (labelText === null || labels[row]?.includes(labelText) === true);
}

function isWantedDevice({ contains, label, product_id: productId }: SoughtDevices, device: Device): boolean {
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

function stateOf({ directory }: DeviceSearchDeps, { ids, connected }: DeviceRows, row: number): ListedState {
  const id = ids[row];
  const actor = id === undefined ? null : directory.find(id);
  if (actor !== null && actor.epoch('signal') > 0) return 'online';
  if (actor !== null && actor.epoch('sleep') > 0) return 'asleep';
  return connected[row] === 1 ? 'offline' : 'never';
}
