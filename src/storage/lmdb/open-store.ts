/**
 * The store of one data directory: its lock and its two files. One server has it at a time, whose processes may be
 * several: then their supervisor holds the lock and migrates the store, and LMDB has them write in turns. The command
 * line may read it meanwhile, which LMDB allows between processes. Source: running.md, Data.
 */
import { resolve } from 'node:path';
import type { Log } from '../../core/ports/log.ts';
import { prepareDataDirectory, ServerLock } from './data-directory.ts';
import { clearDataDirectory } from './leftovers.ts';
import { RegistryTables } from '../registry/registry-tables.ts';
import type { EnvironmentMode } from './environment.ts';
import { logMigration, openMigrated, type MigrationDeps, type MigrationReport } from './migrate-store.ts';
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
  /** Null: the store had this release's format. To be said. */
  readonly migrated: MigrationReport | null;
  /** Waits for outstanding writes and the disk, then gives the lock back; `leavesLock`: to the process that succeeds this one. */
  close(leavesLock?: boolean): Promise<void>;
}

/** Who holds the directory's lock; `held`: the process that started this one, and others that write beside it. */
export interface StoreLock {
  readonly lock: 'taken' | 'held';
  /** The process that leaves the lock to this one; null: nobody does. */
  readonly predecessor?: number | null;
}

/**
 * Makes what is not there. Throws a StoreOpenError, a sentence for the operator, when the directory is not ours,
 * is in use by another server, or cannot be opened.
 */
export function openStore(
  path: string,
  { lock, predecessor = null }: StoreLock = { lock: 'taken' },
  deps: MigrationDeps = {},
): Store {
  const { directory, modeBefore } = prepareDataDirectory(path);
  if (lock === 'held') return { directory, modeBefore, migrated: null, ...openTables(directory, 'shared') };
  const own = new ServerLock(directory, predecessor);
  try {
    if (predecessor === null) clearDataDirectory(directory);
    return { directory, modeBefore, ...openOwn(directory, deps, () => own.release()) };
  } catch (error) {
    own.release();
    throw error;
  }
}

/** For who holds the directory's lock and opens no store: makes what is not there, and migrates what is older. */
export async function migrateStore(directory: string): Promise<MigrationReport | null> {
  const { migrated, close } = openOwn(directory, {}, () => undefined);
  await close();
  return migrated;
}

/** For a command that changes a store at rest, which makes no directory. Throws a StoreOpenError like `openStore`. */
export function openStoreAtRest(path: string): Store {
  requireStorePlace(resolve(path));
  return openStore(path);
}

/** To look on, also while a server runs; nothing is made, changed or locked. Throws a StoreOpenError. */
export function openStoreReadOnly(path: string): Store {
  const directory = resolve(path);
  if (!hasStore(directory)) throw noStore(directory);
  return { directory, modeBefore: null, migrated: null, ...openTables(directory, 'read-only') };
}

/** Says what opening the store has changed. */
export function logOpened({ directory, modeBefore, migrated }: Store, log: Log): void {
  if (modeBefore !== null)
    log.warn({ directory, mode: modeBefore.toString(8) }, 'data directory closed to others');
  logMigration(migrated, log);
}

type OpenTables = Pick<Store, 'registry' | 'state' | 'close'>;

function openTables(directory: string, mode: EnvironmentMode): OpenTables {
  return openingStore(directory, mode === 'read-only' ? 'read' : 'write', () => {
    const [registry, state] = [new RegistryTables(directory, mode), new StateTables(directory, mode)];
    return { registry, state, close: () => closeBoth(registry, state) };
  });
}

/** The only one who writes the store, or lets others write it, has it in this release's format from here on. */
function openOwn(
  directory: string,
  deps: MigrationDeps,
  release: () => void,
): OpenTables & Pick<Store, 'migrated'> {
  return openingStore(directory, 'write', () => {
    const files = openMigrated(directory, deps);
    const registry = new RegistryTables(directory, 'write', files.registry);
    const state = new StateTables(directory, 'write', files.state);
    const close = async (leavesLock = false): Promise<void> => {
      await closeBoth(registry, state);
      if (!leavesLock) release();
    };
    return { registry, state, migrated: files.report, close };
  });
}

async function closeBoth(registry: RegistryTables, state: StateTables): Promise<void> {
  await Promise.all([registry.environment.close(), state.environment.close()]);
}

/** Runs `open`, which opens files of the store; whatever is in the way of it becomes a StoreOpenError. */
export function openingStore<Opened>(
  directory: string,
  intent: 'read' | 'write',
  open: () => Opened,
): Opened {
  try {
    checkStoreAccess(directory, intent);
    return open();
  } catch (error) {
    if (error instanceof StoreOpenError) throw error;
    const fault = `${(error as Error).message}${adviceBehind(error)}`;
    throw new StoreOpenError(`the store in ${directory} cannot be opened: ${fault}`);
  }
}
