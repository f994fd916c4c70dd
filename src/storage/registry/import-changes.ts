/**
 * Counts the changes of an import and limits its deletions within its transaction, so that the confirmed numbers hold. Entries are
 * compared in stored form; unchanged ones are not written. The entries of a replacing import are recorded in a table of the store,
 * not in memory.
 */
import { deletedShareMax, deletedShownMax, mirrorEntriesSlice } from '../lmdb/store-limits.ts';
import { countEntries } from '../lmdb/environment.ts';
import { entryKey, type UnsharedEntries } from './mirrored-rows.ts';
import { kindNames, listNames, type EntryOf, type KindName } from './registry-kinds.ts';
import type { RegistryTables } from './registry-tables.ts';

export type Counts = Record<KindName, number>;

/** Changes of one kind. The first three count entries of the file; one that occurs twice counts twice. */
export interface KindChanges {
  readonly added: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly deleted: number;
}

export type ImportChanges = Readonly<Record<KindName, KindChanges>>;

/**
 * Limit for the deletions of a replacing import. `few`: a tenth of each kind, as protection against a wrong file; counts: the
 * confirmed number of each kind, 0 for a missing one.
 */
export type DeletionLimit = 'few' | 'any' | Readonly<Partial<Counts>>;

export function byKind<Value>(of: (kind: KindName) => Value): Record<KindName, Value> {
  return Object.fromEntries(kindNames.map((kind) => [kind, of(kind)])) as Record<KindName, Value>;
}

export const noCounts = (): Counts => byKind(() => 0);

export const noChanges = (): Record<KindName, { -readonly [Change in keyof KindChanges]: number }> =>
  byKind(() => ({ added: 0, changed: 0, unchanged: 0, deleted: 0 }));

/** Use inside one transaction of the registry. */
export class ImportedEntries {
  readonly changes = noChanges();
  readonly #tables: RegistryTables;
  /** Entries in the file of a replacing import; null: the import deletes nothing. */
  readonly #seen: UnsharedEntries['seen'] | null;
  readonly #before: Counts;

  constructor(tables: RegistryTables, replace: boolean) {
    this.#tables = tables;
    this.#seen = replace ? tables.unshared.seen : null;
    tables.environment.refresh();
    this.#before = byKind((kind) => countEntries(tables.kinds[kind]));
    if (replace) for (const kind of kindNames) this.changes[kind].deleted = this.#before[kind];
  }

  put<Kind extends KindName>(kind: Kind, entry: EntryOf[Kind]): string {
    const { id, change } = this.#tables.put(kind, entry);
    const changes = this.changes[kind];
    changes[change] += 1;
    if (this.#seen !== null && !this.has(kind, id)) {
      if (change !== 'added') changes.deleted -= 1;
      void this.#seen.put(entryKey(kind, id), true);
    }
    return id;
  }

  /** True if the entry exists after the import. */
  has(kind: KindName, id: string): boolean {
    if (this.#seen === null) return this.#tables.has(kind, id);
    return this.#seen.getBinaryFast(entryKey(kind, id)) !== undefined;
  }

  /** Reason why the deletions exceed the limit; null: they do not. */
  findExcess(limit: DeletionLimit): string | null {
    if (limit === 'any') return null;
    const excess = kindNames
      .map((kind) => {
        const [{ deleted }, before] = [this.changes[kind], this.#before[kind]];
        const max = limit === 'few' ? Math.floor(before * deletedShareMax) : (limit[kind] ?? 0);
        return { max, deleted, what: `${deleted} of ${before} ${listNames[kind]}` };
      })
      .filter(({ max, deleted }) => deleted > max);
    if (excess.length === 0) return null;
    if (limit === 'few')
      return (
        `would delete ${excess.map(({ what }) => what).join(', ')}: ` +
        `more than ${deletedShareMax * 100} % of a kind has to be confirmed (--yes)`
      );
    const all = excess.map(({ what, max }) => `${what}, where ${max} were confirmed`).join('; ');
    return `would delete ${all}: the registry or the file has changed meanwhile`;
  }

  /** Some ids to be deleted, by kind; call before `removeOthers`. */
  deletedIds(): Partial<Record<KindName, readonly string[]>> {
    const kinds = kindNames.filter((kind) => this.changes[kind].deleted > 0);
    return Object.fromEntries(kinds.map((kind) => [kind, this.#firstOthers(kind)]));
  }

  /** `onRemoved` receives the number of deletions from time to time; false stops the rest. */
  removeOthers(onRemoved: (removed: number) => boolean): void {
    if (this.#seen === null) return;
    let removed = 0;
    for (const kind of kindNames)
      for (const id of this.#others(kind)) {
        this.#tables.remove(kind, id);
        removed += 1;
        if (removed % mirrorEntriesSlice === 0 && !onRemoved(removed)) return;
      }
    this.#seen.clearSync();
  }

  #firstOthers(kind: KindName): string[] {
    const ids: string[] = [];
    for (const id of this.#others(kind)) if (ids.push(id) === deletedShownMax) break;
    return ids;
  }

  *#others(kind: KindName): Generator<string, void, undefined> {
    if (this.changes[kind].deleted === 0) return;
    for (let ids = this.#tables.ids(kind, mirrorEntriesSlice); ids.length > 0;) {
      for (const id of ids) if (!this.has(kind, id)) yield id;
      ids = this.#tables.ids(kind, mirrorEntriesSlice, ids.at(-1));
    }
  }
}
