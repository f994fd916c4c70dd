/**
 * Checks access to a store before LMDB opens it: whether it exists, and the user's rights. A denied permission is not a missing
 * store, and checks create no directory.
 */
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';
import { adviceBehind, adviceOf, faultOf } from './store-fault.ts';
import { storeFileNames, StoreOpenError } from './store-format.ts';

/** Throws a StoreOpenError when this user may not read the directory. */
export function hasStore(directory: string): boolean {
  try {
    statSync(join(directory, storeFileNames.registry));
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return false;
    throw accessError(error as Error, join(directory, storeFileNames.registry), 'read');
  }
}

export function noStore(directory: string): StoreOpenError {
  return new StoreOpenError(
    `no store at ${directory}: start the server once, make it for a new store (mkdir -m 700), or name another with --data-dir`,
  );
}

const permissionBits = 0o777;
const ownerOnly = 0o700;

/**
 * For an import into an idle store: throws a StoreOpenError unless a store exists, or a directory that was made for one, accessible
 * to its owner alone. This rejects a mistyped name.
 */
export function requireStorePlace(directory: string): void {
  if (hasStore(directory)) return;
  const stats = statSync(directory, { throwIfNoEntry: false });
  const isPrivate = process.platform === 'win32' || (Number(stats?.mode) & permissionBits) === ownerOnly;
  if (stats?.isDirectory() !== true || !isPrivate || directory === homedir()) throw noStore(directory);
}

/** The folder of a data directory in which a restore creates its files; while it exists, the restore is incomplete. */
export const unfinishedRestore = 'restore.unfinished';

/** Throws a StoreOpenError for an unfinished restore, or for the first file that this user may not access. */
export function checkStoreAccess(directory: string): void {
  if (existsSync(join(directory, unfinishedRestore)))
    throw new StoreOpenError(
      `a restore into ${directory} was not finished: run it again, or name another directory with --data-dir`,
    );
  const files = Object.values(storeFileNames).map((name) => join(directory, name));
  for (const path of [directory, ...files, ...files.map((file) => `${file}-lock`)]) {
    try {
      if (existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK);
    } catch (error) {
      throw accessError(error as Error, path, 'write');
    }
  }
}

/** `verb`: the attempted action. The sentence names the path and says what to do. */
export function accessError(error: NodeJS.ErrnoException, path: string, verb: string): StoreOpenError {
  switch (faultOf(error)) {
    case 'denied':
      return new StoreOpenError(`permission denied: ${ownUser()} may not ${verb} ${path}: run as its owner`);
    case 'read-only':
      return new StoreOpenError(`${path} is on a read-only file system: ${adviceOf(error)}`);
    default:
      return new StoreOpenError(`${path} cannot be used: ${error.message}${adviceBehind(error)}`);
  }
}

/** In a container, the user may have no name. */
function ownUser(): string {
  const uid = process.geteuid?.();
  try {
    const { username } = userInfo();
    return uid === undefined ? `user ${username}` : `user ${username} (${uid})`;
  } catch {
    return `user ${uid}`;
  }
}
