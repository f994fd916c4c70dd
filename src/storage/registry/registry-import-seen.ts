/**
 * What an import that replaces has put, where other nodes have to hear of what goes: the entries stay, those that are
 * not in the file are found and removed at the end, and only real changes are noted. The list is on disk, since memory
 * must not grow with the file. All of it inside the import's transaction.
 */
import { entryKey } from './mirrored-tables.ts';
import type { UnsharedEntries } from './mirrored-unshared.ts';
import { kindNames, type KindName } from './registry-kinds.ts';
import type { RegistryTables } from './registry-tables.ts';
import { mirrorEntriesSlice } from '../lmdb/store-limits.ts';

export class SeenEntries {
  readonly #tables: RegistryTables;
  readonly #unshared: UnsharedEntries;

  constructor(tables: RegistryTables, unshared: UnsharedEntries) {
    this.#tables = tables;
    this.#unshared = unshared;
  }

  add(kind: KindName, id: string): void {
    void this.#unshared.seen.put(entryKey(kind, id), true);
  }

  has(kind: KindName, id: string): boolean {
    return this.#unshared.seen.getBinaryFast(entryKey(kind, id)) !== undefined;
  }

  /** At the end of the import. */
  removeOthers(): void {
    for (const kind of kindNames) for (const id of this.#others(kind)) this.#remove(kind, id);
    this.#unshared.seen.clearSync();
  }

  *#others(kind: KindName): Generator<string, void, undefined> {
    for (let ids = this.#tables.ids(kind, mirrorEntriesSlice); ids.length > 0;) {
      for (const id of ids) if (!this.has(kind, id)) yield id;
      ids = this.#tables.ids(kind, mirrorEntriesSlice, ids.at(-1));
    }
  }

  #remove(kind: KindName, id: string): void {
    if (this.#tables.putRow(kind, id, null)) this.#unshared.note(kind, id);
  }
}
