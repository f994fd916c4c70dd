/**
 * The registry's part in being shared by several nodes: rows checked on their way in, and which entries this node has
 * changed and all nodes do not have yet, noted in the transaction that changes them. Nothing is noted in a store that has
 * never been one of several nodes' (`isOn`); one that was goes on noting, whoever writes it: an import's thread, the
 * command line's import while no server runs, a server that is alone for a while. Of an entry only the newest change counts, so
 * there are never more of them than entries. Source: cluster.md, Registry.
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

/** A change whose row, if it has one, can be put as it is. */
export interface CheckedChange {
  readonly kind: KindName;
  readonly id: string;
  readonly row: Buffer | null;
}

/** The same, with its position in the shared registry. */
export interface CheckedSharedChange extends CheckedChange {
  readonly position: number;
}

/** The bytes that its table has of an entry. */
export function packEntry<Kind extends KindName>(kind: Kind, entry: EntryOf[Kind]): Buffer {
  return packPlain(encodeRow(kind, entry));
}

/** What is wrong with the change, as a sentence that quotes no value of its row. Never throws. */
export function checkChange({ kind, id, row }: RegistryChange): Result<CheckedChange, string> {
  if (!isKindName(kind)) return fail(`${JSON.stringify(kind.slice(0, 64))} is no kind of entry`);
  const checked = row === null ? checkId(kind, id) : checkRow(kind, id, row);
  if (!checked.ok) return fail(`${kind} ${JSON.stringify(id.slice(0, 255))}: ${checked.error}`);
  return succeed({ kind, id, row: checked.value });
}

/** Ids that no entry can have are those too long for a key. */
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
  // The node that accepted the entry has applied the rules.
  const rules = { allowShortSecrets: true };
  const entry = parseEntry(kind, writeEntry(kind, decodeRow(kind, id, row)), rules);
  if (!entry.ok) return fail(`${entry.error.field} ${entry.error.reason}`);
  if (idOf(kind, entry.value) !== id) return fail('its row is of another entry');
  return succeed(packEntry(kind, entry.value));
}

/**
 * `held`: what all nodes have of the entry; null: nothing came yet. `sharedAt`: the position that the change was given in the
 * shared registry, which has not come back here yet; null: it is not shared. Add at the end only.
 */
export type UnsharedRow = readonly [
  place: number,
  isAdopted: boolean,
  held: readonly [row: Uint8Array | null, position: number] | null,
  sharedAt: number | null,
];

interface UnsharedTables {
  /** By place: eight bytes, most significant first. */
  readonly places: Table<readonly [kind: KindName, id: string]>;
  readonly entries: Table<UnsharedRow>;
  /** One row. */
  readonly state: Table<SharedStateRow>;
  /** What an import has put, by the keys of `entries`, while it is under way. */
  readonly seen: Table<true>;
}

/** `lastPlace`: the newest that was ever given. Add at the end only. */
export type SharedStateRow = readonly [position: number, lastPlace: number, isOn: boolean];

/** No kind has a line feed in its name. */
export function entryKey(kind: KindName, id: string): Buffer {
  return Buffer.from(`${kind}\n${id}`);
}

/** What one commit of others' changes did here, for those who cache something of it. */
export class AppliedChanges {
  /** Entries that are other than before, or gone. */
  count = 0;
  /** Credentials that are other than before, or gone: keys derived from them are to be dropped. */
  readonly credentials: AccessKeyId[] = [];
  readonly devices: DeviceId[] = [];

  note(kind: KindName, id: string): void {
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

  /** What an import has put, while it is under way. */
  get seen(): Table<true> {
    return this.#tables.seen;
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  /** The position in the shared registry up to which all is here; 0: nothing. */
  get position(): number {
    return this.#state[0];
  }

  find(kind: KindName, id: string): UnsharedRow | null {
    return this.#tables.entries.get(entryKey(kind, id)) ?? null;
  }

  /** In their order, at most `limit`. */
  read(limit: number): UnsharedPlace[] {
    const places: UnsharedPlace[] = [];
    for (const { key, value } of this.#tables.places.getRange({ limit }))
      places.push({ place: placeOf(key), kind: value[0], id: value[1] });
    return places;
  }

  /** Everything below: inside a transaction of the registry only. `position`: of the shared registry. */
  moveTo(position: number): void {
    const [, lastPlace, isOn] = this.#state;
    void this.#tables.state.put(stateKey, [position, lastPlace, isOn]);
  }

  /** From now on changes are noted. */
  turnOn(): void {
    const [position, lastPlace] = this.#state;
    void this.#tables.state.put(stateKey, [position, lastPlace, true]);
    this.#isOn = true;
  }

  /** An entry was changed here. `isAdopted`: it was there before the node was one of several, and gives way to theirs. */
  note(kind: KindName, id: string, isAdopted = false): void {
    const key = entryKey(kind, id);
    const before = this.#tables.entries.get(key);
    if (before !== undefined) void this.#tables.places.remove(placeKey(before[0]));
    const [position, lastPlace, isOn] = this.#state;
    const place = lastPlace + 1;
    void this.#tables.state.put(stateKey, [position, place, isOn]);
    void this.#tables.places.put(placeKey(place), [kind, id]);
    void this.#tables.entries.put(key, [place, isAdopted, before?.[2] ?? null, null]);
  }

  /** What all nodes have of it while this node's change is on its way; null: it is gone there. */
  hold({ kind, id, row: theirs, position }: CheckedSharedChange): void {
    const row = this.find(kind, id);
    if (row !== null)
      void this.#tables.entries.put(entryKey(kind, id), [row[0], row[1], [theirs, position], null]);
  }

  /** It is shared, at `position`: until that comes back here, nothing that stands before it counts. */
  awaitReturn({ kind, id }: UnsharedPlace, position: number): void {
    const row = this.find(kind, id);
    if (row === null) return;
    void this.#tables.places.remove(placeKey(row[0]));
    void this.#tables.entries.put(entryKey(kind, id), [row[0], row[1], null, position]);
  }

  /** The shared registry was made anew: what was shared before has no position there. */
  forgetReturns(): void {
    for (const { key, value } of Array.from(this.#tables.entries.getRange({})))
      if (value[3] !== null) void this.#tables.entries.remove(key);
  }

  /** Null: it was changed again, or is not unshared. */
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
