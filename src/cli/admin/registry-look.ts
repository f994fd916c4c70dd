/** Reads the registry of a data directory, also while a server runs on it. */
import { openStoreReadOnly } from '../../storage/lmdb/open-store.ts';
import type { KindName } from '../../storage/registry/registry-kinds.ts';
import { RegistryStore } from '../../storage/registry/registry-store.ts';
import type { RegistryTables } from '../../storage/registry/registry-tables.ts';
import { StoreOpenError } from '../../storage/lmdb/store-open-error.ts';

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
