/**
 * The data directory: mode 0700, because it contains secrets, and locked by one server, because two would each believe that they own
 * all connections. The owner writes its process id and start time into `server.lock`. A lock is stale, and taken over, if its process
 * is gone or the id belongs to a later process, for example in a restarted container. Source: running.md, Data.
 */
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  statSync,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, resolve, join } from 'node:path';
import { accessError } from './store-access.ts';
import { StoreOpenError } from './store-format.ts';

const ownerOnly = 0o700;
const permissionBits = 0o777;
const stickyBit = 0o1000;

/**
 * Creates the directory if needed, and sets its mode to 0700. Returns its absolute path, the topmost created directory (null: none)
 * and the former mode if it was changed. Throws a StoreOpenError when the directory cannot be used.
 */
export function prepareDataDirectory(path: string): {
  readonly directory: string;
  readonly made: string | null;
  readonly modeBefore: number | null;
} {
  const directory = resolve(path);
  try {
    const made = mkdirSync(directory, { recursive: true, mode: ownerOnly }) ?? null;
    const { mode, uid } = statSync(directory);
    checkOwner(directory, uid);
    if (process.platform === 'win32' || (mode & permissionBits) === ownerOnly)
      return { directory, made, modeBefore: null };
    checkNotShared(directory, mode);
    chmodSync(directory, ownerOnly);
    return { directory, made, modeBefore: mode & permissionBits };
  } catch (error) {
    if (error instanceof StoreOpenError) throw error;
    checkParent(directory);
    throw accessError(error as Error, directory, 'make or read');
  }
}

/** Creating a directory on a read-only file system fails as if its parent did not exist. */
function checkParent(directory: string): void {
  const parent = dirname(directory);
  if (existsSync(directory) || parent === directory) return;
  if (!existsSync(parent)) return checkParent(parent);
  try {
    accessSync(parent, constants.W_OK);
  } catch (error) {
    throw accessError(error as Error, parent, 'write');
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

/** Closing /tmp or a home directory to other users would be worse than not starting. */
function checkNotShared(directory: string, mode: number): void {
  const shared = (mode & stickyBit) !== 0 || dirname(directory) === directory || directory === homedir();
  if (!shared) return;
  throw new StoreOpenError(
    `the data directory ${directory} is open to others and used for other purposes: ` +
      `name a directory of its own with REVEILLE_DATA_DIR`,
  );
}

interface Holder {
  readonly pid: number;
  /** Start time of the process in the kernel's units; null: unknown. */
  readonly start: string | null;
}

const lockName = 'server.lock';

export class ServerLock {
  readonly #path: string;
  readonly #text: string;

  /** Throws a StoreOpenError with the owner's process id when a living process owns the lock. */
  constructor(directory: string) {
    this.#path = join(directory, lockName);
    this.#text = JSON.stringify({ pid: process.pid, start: processStat(process.pid)[1] } satisfies Holder);
    if (this.#acquire()) return;
    const held = readLock(this.#path);
    const holder = held === null ? null : livingHolder(held);
    if (holder !== null) throw inUseError(holder.pid, directory, this.#path);
    if (held !== null) this.#removeStale(held);
    if (!this.#acquire()) throw inUseError(livingPid(directory), directory, this.#path);
  }

  /** Has no effect when the lock has another owner. */
  release(): void {
    if (readLock(this.#path) === this.#text) removeOwn(this.#path);
  }

  /** Creating a hard link is atomic and never overwrites. */
  #acquire(): boolean {
    const own = `${this.#path}.${process.pid}`;
    try {
      writeFileSync(own, this.#text, { mode: 0o600 });
      linkSync(own, this.#path);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw accessError(error as Error, this.#path, 'make');
    } finally {
      removeOwn(own);
    }
  }

  /** Renames the stale lock before deleting it, and restores a lock that another process created meanwhile. */
  #removeStale(stale: string): void {
    const aside = `${this.#path}.stale.${process.pid}`;
    try {
      renameSync(this.#path, aside);
      if (readLock(aside) !== stale) linkSync(aside, this.#path);
    } catch {
      // Another process was faster; the next attempt to acquire the lock shows it.
    } finally {
      rmSync(aside, { force: true });
    }
  }
}

/**
 * Removes a file that marks this process as running. If the file system refuses, the file stays and the server still stops: the file
 * then names a process that is gone, and is ignored.
 */
export function removeOwn(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The stale file is harmless.
  }
}

/** Process id of the server that owns this directory; null: the store is idle. */
export function livingPid(directory: string): number | null {
  const held = readLock(join(directory, lockName));
  return held === null ? null : (livingHolder(held)?.pid ?? null);
}

/** True if the lock's owner ended without releasing it. */
export function wasLeftLocked(directory: string): boolean {
  return readLock(join(directory, lockName)) !== null && livingPid(directory) === null;
}

function readLock(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** Null: the process is gone, or the text is not a lock. */
function livingHolder(text: string): Holder | null {
  const holder = parseHolder(text);
  if (holder === null || !isAlive(holder.pid)) return null;
  const [state, start] = processStat(holder.pid);
  // A zombie: killed, and not reaped by its parent.
  if (state === 'Z') return null;
  if (start === null || holder.start === null) return holder.pid === process.pid ? null : holder;
  return start === holder.start ? holder : null;
}

function parseHolder(text: string): Holder | null {
  try {
    const { pid, start } = JSON.parse(text) as Partial<Holder>;
    return Number.isSafeInteger(pid) && Number(pid) > 0 ? { pid: Number(pid), start: start ?? null } : null;
  } catch {
    return null;
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * State and start time of a process: fields 3 and 22 of its stat, counted from behind the name, which may contain any character and
 * ends at the last parenthesis. Nulls on systems without this file.
 */
function processStat(pid: number): readonly [state: string | null, start: string | null] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return [fields[0] ?? null, fields[19] ?? null];
  } catch {
    return [null, null];
  }
}

function inUseError(pid: number | null, directory: string, path: string): StoreOpenError {
  return new StoreOpenError(
    `the data directory ${directory} is in use by process ${pid ?? 'that just started'}: stop that server first, ` +
      `or name another directory with REVEILLE_DATA_DIR; if that process is not Reveille, delete ${path}`,
  );
}
