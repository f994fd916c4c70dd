/**
 * Single entries added to the registry and removed from it, by the rule that nothing refers to what is not there. Each runs
 * inside a transaction of the registry.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { findNamed, type Webhook } from '../../model/registry.ts';
import { usersShownMax } from '../lmdb/store-limits.ts';
import { referencesOf } from './import-references.ts';
import { idOf, type EntryOf, type KindName } from './registry-kinds.ts';
import type { RegistryTables } from './registry-tables.ts';

/** Nothing was changed: what is changed, or referred to, is not there. */
export interface MissingEntry {
  readonly kind: KindName;
  readonly id: string;
}

/** Nothing was changed: there is an entry of this id already. */
export interface TakenEntry extends MissingEntry {
  readonly isTaken: true;
}

/** Nothing was changed: others refer to the entry. */
export interface UsedEntry extends MissingEntry {
  readonly users: readonly EntryUsers[];
}

export interface EntryUsers {
  readonly kind: KindName;
  readonly count: number;
  /** The first few. */
  readonly ids: readonly string[];
}

/** What an entry refers to and is not there; null: all of it is. */
export function findMissing<Kind extends KindName>(
  tables: RegistryTables,
  kind: Kind,
  entry: EntryOf[Kind],
): MissingEntry | null {
  const missing = referencesOf(kind, entry).find((reference) => !tables.has(reference.kind, reference.id));
  return missing === undefined ? null : { kind: missing.kind, id: missing.id };
}

export interface AddTerms {
  /** True: an entry of this id is replaced. */
  readonly replace: boolean;
}

/** What the new entry leaves out of what it may leave out, it takes from the one that it replaces. */
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

/** Looks through all that may refer to the entry: of a product through all devices, for seconds where there are millions. */
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

/** `appId` null: the only application that has the URL; `several`: there is more than one. */
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
