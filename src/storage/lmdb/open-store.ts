/**
 * The store of one data directory: its lock and its two files. One server has it at a time, whose processes may be
 * several: then the one that supervises them holds the lock, and LMDB has them write in turns. The command line
 * may look on read-only meanwhile, which LMDB allows between processes. Source: running.md, Data.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { prepareDataDirectory } from './data-directory.ts';
import { registryFileName, RegistryTables } from '../registry/registry-tables.ts';
import { ServerLock } from './server-lock.ts';
import { StateTables } from './state-tables.ts';
import { StoreOpenError } from './store-open-error.ts';
import type { EnvironmentMode } from './environment.ts';

export interface Store {
  /** Absolute. */
  readonly directory: string;
  readonly registry: RegistryTables;
  readonly state: StateTables;
  /** The mode the directory had when it had to be closed to others; null: it was 0700, or is new. To be said. */
  readonly modeBefore: number | null;
  /** Waits for outstanding writes and the disk, then gives the lock back. */
  close(): Promise<void>;
}

/** Who holds the directory's lock; `held`: the process that started this one, and others that write beside it. */
export interface StoreLock {
  readonly lock: 'taken' | 'held';
}

/**
 * Makes what is not there. Throws a StoreOpenError, a sentence for the operator, when the directory is not ours,
 * is in use by another server, or cannot be opened.
 */
export function openStore(path: string, { lock }: StoreLock = { lock: 'taken' }): Store {
  const { directory, modeBefore } = prepareDataDirectory(path);
  const own = lock === 'taken' ? new ServerLock(directory) : null;
  try {
    return {
      directory,
      modeBefore,
      ...openTables(directory, own === null ? 'shared' : 'write', () => own?.release()),
    };
  } catch (error) {
    own?.release();
    throw error;
  }
}

/** To look on, also while a server runs; nothing is made, changed or locked. Throws a StoreOpenError. */
export function openStoreReadOnly(path: string): Store {
  const directory = resolve(path);
  if (!existsSync(join(directory, registryFileName)))
    throw new StoreOpenError(
      `there is no store in ${directory}: start the server once, or import a registry`,
    );
  return { directory, modeBefore: null, ...openTables(directory, 'read-only', () => undefined) };
}

function openTables(
  directory: string,
  mode: EnvironmentMode,
  release: () => void,
): Pick<Store, 'registry' | 'state' | 'close'> {
  try {
    const registry = new RegistryTables(directory, mode);
    const state = new StateTables(directory, mode);
    const close = async (): Promise<void> => {
      await Promise.all([registry.environment.close(), state.environment.close()]);
      release();
    };
    return { registry, state, close };
  } catch (error) {
    throw new StoreOpenError(`the store in ${directory} cannot be opened: ${(error as Error).message}`);
  }
}
