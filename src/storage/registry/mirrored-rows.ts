/**
 * The tables and rows by which a node shares its registry with others, and what one commit of their changes did here, for
 * those who cache something of it. Source: cluster.md, Registry.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { packPlain, unpackPlain } from '../../lib/plain-msgpack.ts';
import type { RegistryChange } from '../../core/ports/mirrored.ts';
import { parseEntry, writeEntry } from './registry-entry.ts';
import { isKindName, type EntryOf, type KindName } from './registry-kinds.ts';
import { rowCodecs, type RowOf } from './registry-rows.ts';
import { registryEntryBytesMax } from '../lmdb/store-limits.ts';
import type { Environment, Table } from '../lmdb/environment.ts';
import { eventKey as placeKey, sequenceOf as placeOf } from '../events/event-rows.ts';
import type { AccessKeyId } from '../../model/ids.ts';

/** A change whose row, if it has one, can be put as it is. */
export interface CheckedChange {
  readonly kind: KindName;
  readonly id: string;
  readonly row: Buffer | null;
}

/** The bytes that its table has of an entry. */
export function packEntry<Kind extends KindName>(kind: Kind, entry: EntryOf[Kind]): Buffer {
  return packPlain(rowCodecs[kind].encode(entry));
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

function repack<Kind extends KindName>(kind: Kind, id: string, row: RowOf[Kind]): Result<Buffer, string> {
  // Whether a secret may be short was decided where the entry came in.
  const rules = { allowShortSecrets: true };
  const entry = parseEntry(kind, writeEntry(kind, rowCodecs[kind].decode(id, row)), rules);
  if (!entry.ok) return fail(`${entry.error.field} ${entry.error.reason}`);
  if (rowCodecs[kind].id(entry.value) !== id) return fail('its row is of another entry');
  return succeed(packEntry(kind, entry.value));
}

/** Fields of a row, all of them; what they hold is checked as that of an entry. */
const rowLengths: Readonly<Record<KindName, number>> = {
  application: 1,
  product: 1,
  credential: 6,
  device: 4,
  webhook: 2,
  bridge: 3,
};

function isRow<Kind extends KindName>(kind: Kind, row: unknown): row is RowOf[Kind] {
  return Array.isArray(row) && row.length === rowLengths[kind];
}

/** `held`: what all nodes have of the entry, in a list of one; null: nothing came yet. Add at the end only. */
export type UnsharedRow = readonly [
  place: number,
  isAdopted: boolean,
  held: readonly [Uint8Array | null] | null,
];

export interface UnsharedTables {
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

/** Null: the store is looked on and was last written by a release that had no nodes. */
export function findUnsharedTables(environment: Environment): UnsharedTables | null {
  const state = environment.findTable<SharedStateRow>('registry-shared');
  const places = environment.findTable<readonly [KindName, string]>('registry-unshared');
  const entries = environment.findTable<UnsharedRow>('registry-unshared-entries');
  const seen = environment.findTable<true>('registry-import-seen');
  if (state === null || places === null || entries === null || seen === null) return null;
  return { state, places, entries, seen };
}

/** No kind has a line feed in its name. */
export function entryKey(kind: KindName, id: string): Buffer {
  return Buffer.from(`${kind}\n${id}`);
}

export { placeKey, placeOf };

export class AppliedChanges {
  /** Entries that are other than before, or gone. */
  count = 0;
  /** Credentials that are other than before, or gone: keys derived from them are to be dropped. */
  readonly credentials: AccessKeyId[] = [];

  note(kind: KindName, id: string): void {
    this.count += 1;
    if (kind === 'credential') this.credentials.push(id as AccessKeyId);
  }
}
