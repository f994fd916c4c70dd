/**
 * The data directory: ours alone, mode 0700, because everything secret is in it, and one server's: two would each believe
 * to know alone who is connected. The holder writes its process id and that process's start into `server.lock`; a lock
 * whose process is gone, or whose id now names a later process (a container restarted), is stale and taken over.
 * Source: running.md, Data.
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
 * Makes the directory where there is none and closes it to others where it is open. Returns its absolute path, the topmost
 * directory that was made, null: none, and, when its mode had to be changed, the mode it had. Throws a StoreOpenError when it cannot be ours.
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

/** To make a directory on a read-only file system fails as if its parent were not there. */
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

/** Closing /tmp or somebody's home to everybody else would be worse than not starting. */
function checkNotShared(directory: string, mode: number): void {
  const shared = (mode & stickyBit) !== 0 || dirname(directory) === directory || directory === homedir();
  if (!shared) return;
  throw new StoreOpenError(
    `the data directory ${directory} is open to others and used for other things: ` +
      `name a directory of its own with REVEILLE_DATA_DIR`,
  );
}

interface Holder {
  readonly pid: number;
  /** When the process started, in the kernel's own count; null where that cannot be read. */
  readonly start: string | null;
}

const lockName = 'server.lock';

export class ServerLock {
  readonly #path: string;
  readonly #text: string;

  /** Throws a StoreOpenError that names the holder when a living process has it. */
  constructor(directory: string) {
    this.#path = join(directory, lockName);
    this.#text = JSON.stringify({ pid: process.pid, start: processStat(process.pid)[1] } satisfies Holder);
    if (this.#take()) return;
    const held = readLock(this.#path);
    const holder = held === null ? null : livingHolder(held);
    if (holder !== null) throw heldBy(holder.pid, directory, this.#path);
    if (held !== null) this.#removeStale(held);
    if (!this.#take()) throw heldBy(livingPid(directory), directory, this.#path);
  }

  /** Does nothing when the lock is no longer ours. */
  release(): void {
    if (readLock(this.#path) === this.#text) removeOwn(this.#path);
  }

  /** A link appears whole or not at all, and never over another. */
  #take(): boolean {
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

  /** Moves it aside before it goes, and puts back what another starter has put there meanwhile. */
  #removeStale(stale: string): void {
    const aside = `${this.#path}.stale.${process.pid}`;
    try {
      renameSync(this.#path, aside);
      if (readLock(aside) !== stale) linkSync(aside, this.#path);
    } catch {
      // Another starter was faster; taking the lock tells.
    } finally {
      rmSync(aside, { force: true });
    }
  }
}

/**
 * For a file that says that this process is there: on a file system that takes nothing it stays, which must not keep a server
 * from stopping. It names a process that is gone, and is passed over.
 */
export function removeOwn(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // It stays.
  }
}

/** The process id of the server that has this directory, or null: the store is at rest. */
export function livingPid(directory: string): number | null {
  const held = readLock(join(directory, lockName));
  return held === null ? null : (livingHolder(held)?.pid ?? null);
}

/** True: the process that had the lock is gone, and has not given it back. */
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

/** Null when the process is gone, or the text was never a lock of ours. */
function livingHolder(text: string): Holder | null {
  const holder = parseHolder(text);
  if (holder === null || !isAlive(holder.pid)) return null;
  const [state, start] = processStat(holder.pid);
  // Killed, and its parent has not looked yet: it holds nothing any more.
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
 * State and start of a process: the fields 3 and 22 of its stat, counted from behind its name, which may hold
 * anything and ends at the last parenthesis. Nulls where the system has no such file.
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

function heldBy(pid: number | null, directory: string, path: string): StoreOpenError {
  return new StoreOpenError(
    `the data directory ${directory} is in use by process ${pid ?? 'that just started'}: stop that server first, ` +
      `or name another directory with REVEILLE_DATA_DIR; if that process is no Reveille, delete ${path}`,
  );
}
