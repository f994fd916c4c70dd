/** Searches all devices through the index: by part of their id, label, product, and the state of their connections here. */
import { nextTurn, type Clock } from '../../lib/clock.ts';
import { byteTextOf } from '../../lib/utf8.ts';
import { firstWhere } from '../../lib/collections/binary-search.ts';
import { SerialQueue } from '../../lib/collections/queues.ts';
import type { DeviceActor } from '../../core/devices/device-actor.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { RegistryReader } from '../../core/ports/registry-reader.ts';
import { deviceSearchTurnMs, heldDevicesReadMax } from '../../model/console-limits.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { ListedState } from '../../model/peer.ts';
import type { SoughtDevices } from '../../protocol/cluster/peer-message.ts';
import type { Device } from '../../model/registry.ts';
import type { DeviceIndex, DeviceRows } from './searched-devices.ts';
import { byteFinder, findRow, partFinder, textAt, type Finder } from './text-column.ts';

export interface DeviceSearchDeps {
  readonly clock: Clock;
  readonly registry: Pick<RegistryReader, 'peekDevice'>;
  readonly directory: Pick<DeviceDirectory, 'find' | 'actors' | 'size'>;
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
  const { state, label, product_id: productId } = query;
  const isRead = label !== undefined || productId !== undefined;
  return hasSession(state) && (!isRead || deps.directory.size <= heldDevicesReadMax)
    ? searchHeld(deps, query, state)
    : searchAll(deps, query);
}

/** Among the devices with a session here, in no order. */
async function searchHeld(
  { clock, registry, directory }: DeviceSearchDeps,
  query: SoughtDevices,
  state: ListedState,
): Promise<readonly DeviceId[]> {
  const turn = turnOf(clock);
  const part = query.contains.toLowerCase();
  const found: DeviceId[] = [];
  for (const actor of directory.actors()) {
    if (turn.isOver()) await turn.next();
    const { deviceId: id } = actor;
    if (sessionStateOf(actor) !== state || !isWantedId(query, part, id)) continue;
    const place = firstWhere(found.length, (at) => compareIds(found[at] ?? id, id) >= 0);
    // A device that has left and come back since is listed twice.
    if (place > query.limit || found[place] === id || !isRegistered(registry, query, id)) continue;
    found.splice(place, 0, id);
    if (found.length > query.limit + 1) found.pop();
  }
  return found;
}

async function searchAll(
  { clock, registry, directory, index }: DeviceSearchDeps,
  query: SoughtDevices,
): Promise<readonly DeviceId[]> {
  const { state, limit } = query;
  const session = hasSession(state) ? state : null;
  const turn = turnOf(clock);
  const [prefix, after] = [byteTextOf(query.prefix), byteTextOf(query.after ?? '')];
  const findersIn = findersOf(query);
  const found: DeviceId[] = [];
  for (let from = after < prefix ? prefix : idBehind(after); ;) {
    if (turn.isOver()) await turn.next();
    const { rows, lastId } = index.block(from);
    const { count } = rows;
    let row = rows.placeOf(from);
    if (row < count && !textAt(rows.ids, row).startsWith(prefix)) return found;
    const finders = findersIn(rows);
    for (; (row = findRow(finders, count, row)) < count; row += 1) {
      const id = textAt(rows.ids, row, 'utf8') as DeviceId;
      if (!id.startsWith(query.prefix)) return found;
      if (turn.isOver()) await turn.next();
      if (state !== undefined && sessionStateOf(directory.find(id)) !== session) continue;
      if (!isRegistered(registry, query, id)) continue;
      if (found.push(id) > limit) return found;
    }
    if (lastId === '') return found;
    from = idBehind(lastId);
  }
}

/** A search's share of a turn of the event loop. */
function turnOf(clock: Clock) {
  let begunMs = clock.monotonicMs();
  return {
    isOver: (): boolean => clock.monotonicMs() - begunMs >= deviceSearchTurnMs,
    next: async (): Promise<void> => {
      await nextTurn();
      begunMs = clock.monotonicMs();
    },
  };
}

/** The smallest id greater than `id`. */
function idBehind(id: string): string {
  return `${id}\0`;
}

/** The finders that most likely skip many devices are first. */
function findersOf({ contains, label, product_id: productId, state }: SoughtDevices) {
  const part = Buffer.from(contains.toLowerCase());
  const product = Buffer.from(`\0${productId}\n`);
  const labelPart = label === undefined ? null : Buffer.from(needleOf(label));
  return (rows: DeviceRows): readonly Finder[] => {
    const { lowerIds, terms } = rows;
    const finders: Finder[] = [];
    if (state === 'never' || state === 'offline')
      finders.push(byteFinder(rows.recorded, Number(state === 'offline')));
    if (productId !== undefined) finders.push(partFinder(terms, product));
    if (contains !== '') finders.push(partFinder(lowerIds, part));
    if (labelPart !== null) finders.push(partFinder(terms, labelPart));
    return finders;
  };
}

/** `part`: of the id, in lower case. */
function isWantedId({ prefix, after }: SoughtDevices, part: string, id: DeviceId): boolean {
  return (
    id.startsWith(prefix) &&
    (after === undefined || compareIds(id, after) > 0) &&
    (part === '' || id.toLowerCase().includes(part))
  );
}

function isRegistered(
  registry: DeviceSearchDeps['registry'],
  { label, product_id: productId }: SoughtDevices,
  id: DeviceId,
): boolean {
  const device = registry.peekDevice(id);
  return (
    device !== null &&
    (productId === undefined || device.productId === productId) &&
    (label === undefined || textOfLabels(device.labels).includes(needleOf(label)))
  );
}

/** `key=value`, or a key with any value. */
function needleOf(label: string): string {
  return label.includes('=') ? `\n${label}\n` : `\n${label}=`;
}

/** `\nkey=value\n…\n`; empty: none. */
function textOfLabels(labels: Device['labels']): string {
  if (labels === undefined) return '';
  return ['', ...Object.entries(labels).map((label) => label.join('=')), ''].join('\n');
}

function hasSession(state: ListedState | undefined): state is 'online' | 'asleep' {
  return state === 'online' || state === 'asleep';
}

function sessionStateOf(actor: Pick<DeviceActor, 'epoch'> | null): ListedState | null {
  if (actor === null) return null;
  if (actor.epoch('signal') > 0) return 'online';
  return actor.epoch('sleep') > 0 ? 'asleep' : null;
}

/** The store's order: by the bytes of UTF-8. */
export function compareIds(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at += 1) {
    const difference = rankOf(one.charCodeAt(at)) - rankOf(other.charCodeAt(at));
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

/** In UTF-16, surrogates (characters beyond U+FFFF) sort before U+E000. */
function rankOf(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}
