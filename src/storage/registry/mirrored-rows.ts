/**
 * Rows of the registry as they cross between nodes: the stored bytes of a table. What comes from another node is
 * checked like an entry of an import, and put as this node itself would write it. Source: cluster.md, Registry.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { packPlain, unpackPlain } from '../../lib/plain-msgpack.ts';
import type { RegistryChange } from '../../core/ports/mirrored.ts';
import { parseEntry, writeEntry } from './registry-entry.ts';
import { isKindName, type EntryOf, type KindName } from './registry-kinds.ts';
import { rowCodecs, type RowOf } from './registry-rows.ts';
import { registryEntryBytesMax } from '../lmdb/store-limits.ts';

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
