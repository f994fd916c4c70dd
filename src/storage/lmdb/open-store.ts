/**
 * The store of one data directory: its lock and its two files. One process opens it; others ask that process. Source: running.md,
 * Data.
 */
import { resolve } from 'node:path';
import type { Log } from '../../lib/log.ts';
import { prepareDataDirectory, ServerLock } from './data-directory.ts';
import { clearDataDirectory } from './leftovers.ts';
import { RegistryTables } from '../registry/registry-tables.ts';
import { StateTables } from './state-tables.ts';
import { checkStoreAccess, hasStore, noStore, requireStorePlace } from './store-access.ts';
import { adviceBehind } from './store-fault.ts';
import { StoreOpenError } from './store-format.ts';

export interface Store {
  readonly directory: string;
  readonly registry: RegistryTables;
  readonly state: StateTables;
  /** The directory's former mode if others had access, for the log; null: it was 0700, or is new. */
  readonly modeBefore: number | null;
  /** Waits for pending writes and the disk, then releases the lock. */
  close(): Promise<void>;
}

/**
 * Opens the store, and creates missing parts. Throws a StoreOpenError, a sentence for the operator, when the directory has another
 * owner, is in use by another server, or cannot be opened.
 */
export function openStore(path: string): Store {
  const { directory, modeBefore } = prepareDataDirectory(path);
  const own = new ServerLock(directory);
  try {
    clearDataDirectory(directory);
    const tables = openTables(directory);
    const close = async (): Promise<void> => {
      await tables.close();
      own.release();
    };
    return { directory, modeBefore, ...tables, close };
  } catch (error) {
    own.release();
    throw error;
  }
}

/** Opens an idle store for an import, and creates no directory. Throws a StoreOpenError like `openStore`. */
export function openStoreAtRest(path: string): Store {
  requireStorePlace(resolve(path));
  return openStore(path);
}

/** Opens an existing store for reading, and creates none. */
export function openFoundStore(path: string): Store {
  if (!hasStore(path)) throw noStore(path);
  return openStore(path);
}

export function logOpened({ directory, modeBefore }: Store, log: Log): void {
  if (modeBefore !== null)
    log.warn(
      { directory, mode: modeBefore.toString(8) },
      'data directory: other users had access; mode set to 0700',
    );
}

type OpenTables = Pick<Store, 'registry' | 'state' | 'close'>;

function openTables(directory: string): OpenTables {
  return openingStore(directory, () => {
    const [registry, state] = [new RegistryTables(directory), new StateTables(directory)];
    const close = async (): Promise<void> => {
      await Promise.all([registry.environment.close(), state.environment.close()]);
    };
    return { registry, state, close };
  });
}

/** Runs `open`, which opens files of the store, and turns every error into a StoreOpenError. */
export function openingStore<Opened>(directory: string, open: () => Opened): Opened {
  try {
    checkStoreAccess(directory);
    return open();
  } catch (error) {
    if (error instanceof StoreOpenError) throw error;
    const fault = `${(error as Error).message}${adviceBehind(error)}`;
    throw new StoreOpenError(`the store in ${directory} cannot be opened: ${fault}`);
  }
}
