/**
 * The store of one data directory: its lock and its two files. One process has it open; others ask that one.
 * Source: running.md, Data.
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
  /** Absolute. */
  readonly directory: string;
  readonly registry: RegistryTables;
  readonly state: StateTables;
  /** The mode the directory had when it had to be closed to others; null: it was 0700, or is new. To be said. */
  readonly modeBefore: number | null;
  /** Waits for outstanding writes and the disk, then releases the lock. */
  close(): Promise<void>;
}

/**
 * Makes what is not there. Throws a StoreOpenError, a sentence for the operator, when the directory is not ours,
 * is in use by another server, or cannot be opened.
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

/** For an import into a store at rest, which makes no directory. Throws a StoreOpenError like `openStore`. */
export function openStoreAtRest(path: string): Store {
  requireStorePlace(resolve(path));
  return openStore(path);
}

/** The same for a store that is to be read: makes none. */
export function openFoundStore(path: string): Store {
  if (!hasStore(path)) throw noStore(path);
  return openStore(path);
}

/** Says what opening the store has changed. */
export function logOpened({ directory, modeBefore }: Store, log: Log): void {
  if (modeBefore !== null)
    log.warn({ directory, mode: modeBefore.toString(8) }, 'data directory closed to others');
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

/** Runs `open`, which opens files of the store; whatever is in the way of it becomes a StoreOpenError. */
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
