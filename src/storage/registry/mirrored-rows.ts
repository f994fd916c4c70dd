/**
 * Bookkeeping for a shared registry: checks rows that arrive, and records the entries that this node has changed and not shared yet,
 * in the transaction of the change. A store that was never part of a cluster records none (`isOn`); one that was always records,
 * whichever writer it has: an import thread, an import by the command line, or a server that runs alone for a while. Only the newest
 * change of an entry is kept. Source: cluster.md, Registry.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { packPlain, unpackPlain } from '../../lib/plain-msgpack.ts';
import type { RegistryChange } from '../../core/ports/mirrored.ts';
import { parseEntry, writeEntry } from './registry-entry.ts';
import {
  decodeRow,
  encodeRow,
  idOf,
  isKindName,
  isRow,
  type EntryOf,
  type KindName,
  type Row,
} from './registry-kinds.ts';
import { registryEntryBytesMax } from '../lmdb/store-limits.ts';
import type { Environment, Table } from '../lmdb/environment.ts';
import { eventKey as placeKey, sequenceOf as placeOf } from '../events/event-rows.ts';
import type { AccessKeyId, DeviceId } from '../../model/ids.ts';

export interface CheckedChange {
  readonly kind: KindName;
  readonly id: string;
  readonly row: Buffer | null;
}

export interface CheckedSharedChange extends CheckedChange {
  readonly position: number;
}

export function packEntry<Kind extends KindName>(kind: Kind, entry: EntryOf[Kind]): Buffer {
  return packPlain(encodeRow(kind, entry));
}

/** The error is a sentence that quotes no value of the row. Never throws. */
export function checkChange({ kind, id, row }: RegistryChange): Result<CheckedChange, string> {
  if (!isKindName(kind)) return fail(`${JSON.stringify(kind.slice(0, 64))} is no kind of entry`);
  const checked = row === null ? checkId(kind, id) : checkRow(kind, id, row);
  if (!checked.ok) return fail(`${kind} ${JSON.stringify(id.slice(0, 255))}: ${checked.error}`);
  return succeed({ kind, id, row: checked.value });
}

const idBytesMax = 1536;

function checkId(kind: KindName, id: string): Result<null, string> {
  const bytes = Buffer.byteLength(id);
  if (bytes < 1 || bytes > idBytesMax) return fail(`is no id of a ${kind}`);
  return succeed(null);
}

function checkRow(kind: KindName, id: string, bytes: Uint8Array): Result<Buffer, string> {
  if (bytes.length > registryEntryBytesMax) return fail(`is longer than ${registryEntryBytesMax} bytes`);
  const row = unpackPlain(bytes);
  return isRow(kind, row) ? repack(kind, id, row) : fail('its row has not the form of this release');
}

function repack(kind: KindName, id: string, row: Row): Result<Buffer, string> {
  // The node that accepted the entry has applied the rule.
  const rules = { allowShortSecrets: true };
  const entry = parseEntry(kind, writeEntry(kind, decodeRow(kind, id, row)), rules);
  if (!entry.ok) return fail(`${entry.error.field} ${entry.error.reason}`);
  if (idOf(kind, entry.value) !== id) return fail('its row is of another entry');
  return succeed(packEntry(kind, entry.value));
}

/**
 * `held`: the shared state of the entry, deferred; null: none arrived. `sharedAt`: position of this change in the shared registry,
 * until it arrives here; null: not shared. Add fields at the end only.
 */
export type UnsharedRow = readonly [
  place: number,
  isAdopted: boolean,
  held: readonly [row: Uint8Array | null, position: number] | null,
  sharedAt: number | null,
];

interface UnsharedTables {
  /** Keyed by place: eight bytes, big-endian. */
  readonly places: Table<readonly [kind: KindName, id: string]>;
  readonly entries: Table<UnsharedRow>;
  /** One row. */
  readonly state: Table<SharedStateRow>;
  /** Entries of the import under way, keyed like `entries`. */
  readonly seen: Table<true>;
}

/** `lastPlace`: highest place ever assigned. Add fields at the end only. */
export type SharedStateRow = readonly [position: number, lastPlace: number, isOn: boolean];

/** Names of kinds contain no line feed. */
export function entryKey(kind: KindName, id: string): Buffer {
  return Buffer.from(`${kind}\n${id}`);
}

/** Effect of one commit of others' changes, for caches. */
export class AppliedChanges {
  count = 0;
  /** Changed or removed credentials: keys derived from them must be dropped. */
  readonly credentials: AccessKeyId[] = [];
  readonly devices: DeviceId[] = [];

  add(kind: KindName, id: string): void {
    this.count += 1;
    if (kind === 'credential') this.credentials.push(id as AccessKeyId);
    if (kind === 'device') this.devices.push(id as DeviceId);
  }
}

export interface UnsharedPlace {
  readonly place: number;
  readonly kind: KindName;
  readonly id: string;
}

export class UnsharedEntries {
  readonly #tables: UnsharedTables;
  #isOn: boolean;

  constructor(environment: Environment) {
    this.#tables = {
      state: environment.table('registry-shared'),
      places: environment.table('registry-unshared'),
      entries: environment.table('registry-unshared-entries'),
      seen: environment.table('registry-import-seen'),
    };
    this.#isOn = this.#tables.state.get(stateKey)?.[2] === true;
  }

  get seen(): Table<true> {
    return this.#tables.seen;
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  /** Position in the shared registry up to which this copy is complete; 0: empty. */
  get position(): number {
    return this.#state[0];
  }

  find(kind: KindName, id: string): UnsharedRow | null {
    return this.#tables.entries.get(entryKey(kind, id)) ?? null;
  }

  /** In order of place, at most `limit`. */
  read(limit: number): UnsharedPlace[] {
    const places: UnsharedPlace[] = [];
    for (const { key, value } of this.#tables.places.getRange({ limit }))
      places.push({ place: placeOf(key), kind: value[0], id: value[1] });
    return places;
  }

  /** This and all methods below: inside a transaction of the registry only. `position`: in the shared registry. */
  moveTo(position: number): void {
    const [, lastPlace, isOn] = this.#state;
    void this.#tables.state.put(stateKey, [position, lastPlace, isOn]);
  }

  turnOn(): void {
    const [position, lastPlace] = this.#state;
    void this.#tables.state.put(stateKey, [position, lastPlace, true]);
    this.#isOn = true;
  }

  /** Records a change made here. `isAdopted`: the entry is older than the node's membership, and yields to the shared one. */
  recordChange(kind: KindName, id: string, isAdopted = false): void {
    const key = entryKey(kind, id);
    const before = this.#tables.entries.get(key);
    if (before !== undefined) void this.#tables.places.remove(placeKey(before[0]));
    const [position, lastPlace, isOn] = this.#state;
    const place = lastPlace + 1;
    void this.#tables.state.put(stateKey, [position, place, isOn]);
    void this.#tables.places.put(placeKey(place), [kind, id]);
    void this.#tables.entries.put(key, [place, isAdopted, before?.[2] ?? null, null]);
  }

  /** Keeps the shared state of the entry until this node's change is shared; `row` null: removed there. */
  defer({ kind, id, row: theirs, position }: CheckedSharedChange): void {
    const row = this.find(kind, id);
    if (row !== null)
      void this.#tables.entries.put(entryKey(kind, id), [row[0], row[1], [theirs, position], null]);
  }

  /** The change is shared at `position`: until it arrives here, earlier changes are ignored. */
  awaitReturn({ kind, id }: UnsharedPlace, position: number): void {
    const row = this.find(kind, id);
    if (row === null) return;
    void this.#tables.places.remove(placeKey(row[0]));
    void this.#tables.entries.put(entryKey(kind, id), [row[0], row[1], null, position]);
  }

  /** The shared registry was recreated: positions of earlier changes are void. */
  forgetReturns(): void {
    for (const { key, value } of Array.from(this.#tables.entries.getRange({})))
      if (value[3] !== null) void this.#tables.entries.remove(key);
  }

  /** Null: changed again, or shared. */
  findPlace(place: number): UnsharedPlace | null {
    const value = this.#tables.places.get(placeKey(place));
    return value === undefined ? null : { place, kind: value[0], id: value[1] };
  }

  remove(kind: KindName, id: string): void {
    const row = this.find(kind, id);
    if (row === null) return;
    void this.#tables.places.remove(placeKey(row[0]));
    void this.#tables.entries.remove(entryKey(kind, id));
  }

  get #state(): SharedStateRow {
    return this.#tables.state.get(stateKey) ?? [0, 0, false];
  }
}

const stateKey = Buffer.from('state');
