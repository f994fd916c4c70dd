/**
 * The registry of a data directory, read also while a server runs on it: a look into it, one page of one kind as a table,
 * or how many entries there are of each kind.
 */
import { assert } from '../../lib/assert.ts';
import type { JsonObject } from '../../model/json.ts';
import type { ImportReport } from '../../storage/registry/registry-import.ts';
import { maskSecrets } from '../../storage/registry/registry-export.ts';
import { writeEntry } from '../../storage/registry/registry-entry.ts';
import {
  findKindOfList,
  idKeys,
  kindNames,
  listNames,
  type KindName,
} from '../../storage/registry/registry-kinds.ts';
import { RegistryStore } from '../../storage/registry/registry-store.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { counted } from '../shell/option-values.ts';
import { alignColumns } from '../shell/output.ts';
import { openStoreReadOnly } from '../../storage/lmdb/open-store.ts';
import type { RegistryTables } from '../../storage/registry/registry-tables.ts';
import { StoreOpenError } from '../../storage/lmdb/store-format.ts';

/** Throws a StoreOpenError when there is no store. The result of `look` must not refer to the store, which is closed. */
export async function lookIntoRegistry<Result>(
  dataDirectory: string,
  look: (registry: RegistryStore, tables: RegistryTables) => Result | Promise<Result>,
): Promise<Result> {
  const store = openStoreReadOnly(dataDirectory);
  try {
    return await look(new RegistryStore(store.registry), store.registry);
  } finally {
    await store.close();
  }
}

/** False also where there is no store yet. */
export async function isInRegistry(dataDirectory: string, kind: KindName, id: string): Promise<boolean> {
  try {
    return await lookIntoRegistry(dataDirectory, (registry) => registry.find(kind, id) !== null);
  } catch (error) {
    if (error instanceof StoreOpenError) return false;
    throw error;
  }
}

export interface ListOptions {
  readonly limit: number;
  readonly after?: string;
}

export async function listEntries(
  context: CommandContext,
  list: string | undefined,
  options: ListOptions,
): Promise<void> {
  const { output, dataDirectory } = context;
  if (list === undefined) {
    const counts = await lookIntoRegistry(dataDirectory, (registry) => registry.counts());
    const rows = kindNames.map((kind) => [listNames[kind], String(counts[kind])]);
    return output.answer(counts, alignColumns(rows));
  }
  const kind = findKindOfList(list);
  assert(kind !== null, 'the argument is one of the lists');
  const page = await lookIntoRegistry(dataDirectory, (registry) => readPage(registry, kind, options));
  output.answer({ [list]: page.entries, next: page.next }, asTable(list, page.entries));
  if (page.next !== null) output.remark(`there may be more: --after ${JSON.stringify(page.next)}`);
}

interface Page {
  readonly entries: readonly JsonObject[];
  /** For `--after`; null when this was the last page. */
  readonly next: string | null;
}

function readPage(registry: RegistryStore, kind: KindName, { limit, after }: ListOptions): Page {
  const entries = registry
    .page(kind, limit, kind === 'webhook' ? after?.replace(' ', '\n') : after)
    .map((entry) => maskSecrets(writeEntry(kind, entry)));
  const last = entries.length < limit ? undefined : entries.at(-1);
  return { entries, next: last === undefined ? null : idOf(kind, last) };
}

/** A webhook's id is application and url, separated by a line feed in the store and by a space on a command line. */
function idOf(kind: KindName, entry: JsonObject): string {
  const id = cell(entry[idKeys[kind]]);
  return kind === 'webhook' ? `${cell(entry['app_id'])} ${id}` : id;
}

function asTable(list: string, entries: readonly JsonObject[]): string {
  if (entries.length === 0) return `no ${list}`;
  // Not every entry has every field.
  const columns = Array.from(new Set(entries.flatMap((entry) => Object.keys(entry))));
  const heading = columns.map((column) => column.toUpperCase());
  return alignColumns([heading, ...entries.map((entry) => columns.map((column) => cell(entry[column])))]);
}

function cell(value: unknown): string {
  if (Array.isArray(value)) return value.join(',');
  if (value === null || value === undefined) return '-';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** `2 applications, 1 device`; kinds without an entry are left out. */
export function describeCounts(counts: ImportReport['counts']): string {
  const parts = (Object.entries(counts) as [KindName, number][])
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => counted(count, kind, listNames[kind]));
  return parts.length === 0 ? 'nothing' : parts.join(', ');
}
