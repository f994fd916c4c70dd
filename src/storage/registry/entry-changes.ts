/** Adds and removes single registry entries, and keeps every reference valid. Call inside a transaction of the registry. */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { findNamed, type Webhook } from '../../model/registry.ts';
import { usersShownMax } from '../lmdb/store-limits.ts';
import { referencesOf } from './import-references.ts';
import { idOf, type EntryOf, type KindName } from './registry-kinds.ts';
import type { RegistryTables } from './registry-tables.ts';

/** Failure: the entry itself, or an entry that it refers to, does not exist. */
export interface MissingEntry {
  readonly kind: KindName;
  readonly id: string;
}

/** Failure: the id exists already. */
export interface TakenEntry extends MissingEntry {
  readonly isTaken: true;
}

/** Failure: other entries refer to it. */
export interface UsedEntry extends MissingEntry {
  readonly users: readonly EntryUsers[];
}

export interface EntryUsers {
  readonly kind: KindName;
  readonly count: number;
  readonly ids: readonly string[];
}

/** The first reference of the entry that does not exist; null: all exist. */
export function findMissing<Kind extends KindName>(
  tables: RegistryTables,
  kind: Kind,
  entry: EntryOf[Kind],
): MissingEntry | null {
  const missing = referencesOf(kind, entry).find((reference) => !tables.has(reference.kind, reference.id));
  return missing === undefined ? null : { kind: missing.kind, id: missing.id };
}

export interface AddTerms {
  readonly replace: boolean;
}

/** Optional fields that the new entry omits keep the values of the entry that it replaces. */
export function addEntry<Kind extends KindName>(
  tables: RegistryTables,
  kind: Kind,
  entry: EntryOf[Kind],
  { replace }: AddTerms,
): Result<EntryOf[Kind], MissingEntry | TakenEntry> {
  const id = idOf(kind, entry);
  const before = tables.find(kind, id);
  if (before !== null && !replace) return fail({ kind, id, isTaken: true });
  const missing = findMissing(tables, kind, entry);
  if (missing !== null) return fail(missing);
  const whole = { ...before, ...entry };
  tables.put(kind, whole);
  return succeed(whole);
}

export type UsedKind = 'application' | 'product';

const usersOf = {
  application: ['product', 'credential', 'webhook', 'bridge'],
  product: ['device'],
} as const satisfies Record<UsedKind, readonly KindName[]>;

/** Scans all entries that may refer to it: for a product all devices, which takes seconds for millions. */
export function removeUnused(
  tables: RegistryTables,
  kind: UsedKind,
  id: string,
): Result<null, MissingEntry | UsedEntry> {
  if (!tables.has(kind, id)) return fail({ kind, id });
  const users = usersOf[kind]
    .map((user) => findUsers(tables, user, kind, id))
    .filter(({ count }) => count > 0);
  if (users.length > 0) return fail({ kind, id, users });
  tables.remove(kind, id);
  return succeed(null);
}

function findUsers(tables: RegistryTables, kind: KindName, used: UsedKind, id: string): EntryUsers {
  const ids: string[] = [];
  let count = 0;
  for (const entry of tables.entries(kind)) {
    if (!referencesOf(kind, entry).some((reference) => reference.kind === used && reference.id === id))
      continue;
    count += 1;
    if (ids.length < usersShownMax) ids.push(idOf(kind, entry));
  }
  return { kind, count, ids };
}

/** `appId` null: of the only application with this URL; `several`: more than one has it. */
export function removeWebhook(
  tables: RegistryTables,
  url: string,
  appId: string | null,
): Result<Webhook, MissingEntry | 'several'> {
  const [webhook, other] = findNamed(tables.entries('webhook'), url, appId);
  if (webhook === undefined) return fail({ kind: 'webhook', id: url });
  if (other !== undefined) return fail('several');
  tables.remove('webhook', idOf('webhook', webhook));
  return succeed(webhook);
}
