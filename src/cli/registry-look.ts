/** A look into the registry of a data directory, also while a server runs on it. */
import { openStoreReadOnly } from '../store/open-store.ts';
import { RegistryStore } from '../store/registry-store.ts';
import type { RegistryTables } from '../store/registry-tables.ts';

/** Throws a StoreOpenError when there is no store. What `look` returns holds nothing of the store. */
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
