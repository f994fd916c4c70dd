/**
 * The registry as commands read it: a look into that of a data directory, also while a server runs on it; and there or on a
 * server elsewhere an entry, one page of one kind as a table, or how many entries there are of each kind.
 */
import type { RegistryPage } from '../../gateways/admin/registry-lists.ts';
import { shellWord } from '../shell/command-error.ts';
import { registryClient } from './admin-client.ts';
import { MissingError } from './ops-client.ts';
import { assert } from '../../lib/assert.ts';
import type { JsonObject } from '../../model/json.ts';
import type { ImportReport } from '../../storage/registry/registry-import.ts';
import {
  findKindOfList,
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
export async function isInRegistry(context: CommandContext, kind: KindName, id: string): Promise<boolean> {
  try {
    await findEntry(context, kind, id);
    return true;
  } catch (error) {
    if (error instanceof StoreOpenError || error instanceof MissingError) return false;
    throw error;
  }
}

/** An entry, its secrets masked. Throws a MissingError when there is none. */
export async function findEntry<Entry>(context: CommandContext, kind: KindName, id: string): Promise<Entry> {
  const query = new URLSearchParams({ kind, id });
  const { entry } = await registryClient(context).ask<{ entry: Entry }>('/v1/registry/entry', query);
  return entry;
}

export interface ListOptions {
  readonly limit: number;
  readonly after?: string;
}

export async function listEntries(
  context: CommandContext,
  list: string | undefined,
  { limit, after }: ListOptions,
): Promise<void> {
  const { output } = context;
  const client = registryClient(context);
  if (list === undefined) {
    const counts = await client.ask<Record<KindName, number>>('/v1/registry/counts');
    const rows = kindNames.map((kind) => [listNames[kind], String(counts[kind])]);
    return output.answer(counts, alignColumns(rows));
  }
  const kind = findKindOfList(list);
  assert(kind !== null, 'the argument is one of the lists');
  const query = new URLSearchParams({ kind, limit: String(limit), ...(after !== undefined && { after }) });
  const { entries, next } = await client.ask<RegistryPage>('/v1/registry/list', query);
  output.answer({ [list]: entries, next }, asTable(list, entries));
  if (next !== null) output.remark(`there may be more: --after ${shellWord(next)}`);
}

function asTable(list: string, entries: readonly JsonObject[]): string {
  if (entries.length === 0) return `no ${list}`;
  // Not every entry has every field.
  const columns = Array.from(new Set(entries.flatMap((entry) => Object.keys(entry))));
  const heading = columns.map((column) => column.toUpperCase());
  return alignColumns([heading, ...entries.map((entry) => columns.map((column) => cell(entry[column])))]);
}

/** A value of an entry, for a table. */
export function cell(value: unknown): string {
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
