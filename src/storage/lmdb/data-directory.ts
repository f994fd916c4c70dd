/**
 * The data directory: ours alone, mode 0700, because everything secret is in it.
 * Source: running.md, Data.
 */
import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, resolve } from 'node:path';
import { StoreOpenError } from './store-open-error.ts';

const ownerOnly = 0o700;
const permissionBits = 0o777;
const stickyBit = 0o1000;

/**
 * Makes the directory where there is none and closes it to others where it is open. Returns its absolute path
 * and, when its mode had to be changed, the mode it had. Throws a StoreOpenError when it cannot be ours.
 */
export function prepareDataDirectory(path: string): {
  readonly directory: string;
  readonly modeBefore: number | null;
} {
  const directory = resolve(path);
  try {
    mkdirSync(directory, { recursive: true, mode: ownerOnly });
    const { mode, uid } = statSync(directory);
    checkOwner(directory, uid);
    if (process.platform === 'win32' || (mode & permissionBits) === ownerOnly)
      return { directory, modeBefore: null };
    checkNotShared(directory, mode);
    chmodSync(directory, ownerOnly);
    return { directory, modeBefore: mode & permissionBits };
  } catch (error) {
    if (error instanceof StoreOpenError) throw error;
    throw new StoreOpenError(`the data directory ${directory} cannot be used: ${(error as Error).message}`);
  }
}

function checkOwner(directory: string, uid: number): void {
  const ownUid = process.getuid?.();
  if (ownUid === undefined || uid === ownUid) return;
  throw new StoreOpenError(
    `the data directory ${directory} belongs to user ${uid} and this process is user ${ownUid}: ` +
      `run as its owner, change the owner, or name another directory with REVEILLE_DATA_DIR`,
  );
}

/** Closing /tmp or somebody's home to everybody else would be worse than not starting. */
function checkNotShared(directory: string, mode: number): void {
  const shared = (mode & stickyBit) !== 0 || dirname(directory) === directory || directory === homedir();
  if (!shared) return;
  throw new StoreOpenError(
    `the data directory ${directory} is open to others and used for other things: ` +
      `name a directory of its own with REVEILLE_DATA_DIR`,
  );
}
