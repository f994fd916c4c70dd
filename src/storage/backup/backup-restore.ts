/**
 * Restores a backup into an empty data directory, or verifies one. Files are created in `restore.unfinished` of the
 * directory and moved up when all are complete. No store opens while that folder exists, and an interrupted restore can be repeated.
 * Source: docs/adr/0026.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { prepareDataDirectory, livingPid, ServerLock } from '../lmdb/data-directory.ts';
import { syncDirectory } from '../keys/private-file.ts';
import { unfinishedRestore } from '../lmdb/store-access.ts';
import { storeFileNames, StoreOpenError } from '../lmdb/store-format.ts';
import { restoredRoomFactor, damageWalkOfBackupMsMax } from '../lmdb/store-limits.ts';
import { freeBytesOf, refuseFull } from '../lmdb/disk-room.ts';
import { countRows, isOtherFileName, type BackupManifest, BackupReader } from './backup-format.ts';
import { checkBackupFormat, unpackBackup } from './unpack-backup.ts';
import { openStore } from '../lmdb/open-store.ts';
import { walkStore } from '../lmdb/store-damage.ts';
import { removeLeftovers } from '../lmdb/leftovers.ts';

export interface RestoreProgress {
  /** `placing`: the backup is complete, and its files are being moved to their places. */
  readonly phase: 'restoring' | 'placing';
  readonly done: number;
  /** Total number of rows, or of files. */
  readonly inAll: number;
}

export interface RestoreDeps {
  /** Name of the backup in errors. */
  readonly name: string;
  readonly bytes: number | null;
  readonly onProgress?: (progress: RestoreProgress) => void;
  /** Aborting ends the restore with the signal's reason, and leaves no file. */
  readonly signal?: AbortSignal;
  readonly freeBytes?: (directory: string) => number;
}

/**
 * `path`: a data directory that is empty or missing. Rejects with a StoreOpenError and leaves nothing, unless the files were complete
 * and could not be placed.
 */
export async function restoreBackup(
  source: AsyncIterable<Buffer>,
  path: string,
  deps: RestoreDeps,
): Promise<BackupManifest> {
  const directory = resolve(path);
  refuseUsed(directory);
  return reading(source, deps, async (reader, manifest) => {
    const { made } = prepareDataDirectory(directory);
    try {
      await restoreInto(directory, reader, manifest, deps);
      return manifest;
    } catch (error) {
      if (made !== null) removeMade(directory, made);
      throw error;
    }
  });
}

async function restoreInto(
  directory: string,
  reader: BackupReader,
  manifest: BackupManifest,
  deps: RestoreDeps,
): Promise<void> {
  const lock = new ServerLock(directory);
  const unfinished = join(directory, unfinishedRestore);
  let isWhole = false;
  try {
    clearUnfinished(directory);
    checkRoom(directory, deps);
    mkdirSync(unfinished, { mode: 0o700 });
    await syncDirectory(directory);
    await unpack(reader, manifest, unfinished, deps);
    isWhole = true;
    await placeAll(directory, deps);
  } finally {
    if (!isWhole) rmSync(unfinished, { recursive: true, force: true });
    lock.release();
  }
}

/** Removes the directory and its parents up to `made`, if they are empty. */
function removeMade(directory: string, made: string): void {
  try {
    for (let at = directory; at.startsWith(made); at = dirname(at)) rmdirSync(at);
  } catch {
    // It contains files that could not be placed, or those of another process.
  }
}

/** Rejects a backup of another format before it creates a file. */
async function reading<Result>(
  source: AsyncIterable<Buffer>,
  { name }: RestoreDeps,
  act: (reader: BackupReader, manifest: BackupManifest) => Promise<Result>,
): Promise<Result> {
  const reader = new BackupReader(source, name);
  try {
    const manifest = await reader.manifest();
    checkBackupFormat(manifest, name);
    return await act(reader, manifest);
  } finally {
    await reader.close();
  }
}

async function unpack(
  reader: BackupReader,
  manifest: BackupManifest,
  directory: string,
  { name, onProgress, signal }: RestoreDeps,
): Promise<void> {
  const inAll = countRows(manifest);
  let done = 0;
  const onRows = (rows: number): void => {
    done += rows;
    onProgress?.({ phase: 'restoring', done, inAll });
  };
  onRows(0);
  await unpackBackup({ reader, manifest, name, directory, onRows, signal });
}

function checkRoom(directory: string, { bytes, freeBytes = freeBytesOf }: RestoreDeps): void {
  if (bytes !== null)
    refuseFull('the store', Math.ceil(bytes * restoredRoomFactor), directory, freeBytes(directory));
}

/** New volumes contain `lost+found`; the lock is checked separately. */
const foundInEmpty = new Set(['lost+found', 'server.lock']);

/** Throws a StoreOpenError unless the directory is empty or contains an unfinished restore. */
function refuseUsed(directory: string): void {
  if (!existsSync(directory)) return;
  const pid = livingPid(directory);
  if (pid !== null)
    throw new StoreOpenError(
      `a server runs on ${directory} (process ${pid}): nothing is restored into it; stop it first, and move the directory away`,
    );
  const names = readdirSync(directory);
  const isUnfinished = names.includes(unfinishedRestore);
  const other = names.find((name) => !foundInEmpty.has(name) && !(isUnfinished && isRestored(name)));
  if (other === undefined) return;
  throw new StoreOpenError(
    `${directory} is not empty (${other}): move it away, or name another directory with --data-dir`,
  );
}

function isRestored(name: string): boolean {
  const ofStore = Object.values(storeFileNames).some((file) => name === file || name === `${file}-lock`);
  return name === unfinishedRestore || ofStore || isOtherFileName(name);
}

function clearUnfinished(directory: string): void {
  const names = readdirSync(directory);
  if (!names.includes(unfinishedRestore)) return;
  // Removes the folder last: without it, the rest would look like a store.
  const others = names.filter((name) => name !== unfinishedRestore && isRestored(name));
  for (const name of [...others, unfinishedRestore])
    rmSync(join(directory, name), { recursive: true, force: true });
}

async function placeAll(directory: string, { onProgress }: RestoreDeps): Promise<void> {
  const unfinished = join(directory, unfinishedRestore);
  // LMDB's lock files belong to the process that created the store.
  const names = readdirSync(unfinished).filter((name) => !name.endsWith('-lock'));
  for (const [done, name] of names.entries()) {
    onProgress?.({ phase: 'placing', done, inAll: names.length });
    renameSync(join(unfinished, name), join(directory, name));
  }
  onProgress?.({ phase: 'placing', done: names.length, inAll: names.length });
  await syncDirectory(directory);
  rmSync(unfinished, { recursive: true });
  await syncDirectory(directory);
}

/**
 * Verifies a backup by its checksum, and by reading through the store that is unpacked from it. `path`: the store is unpacked next to
 * it, and removed afterwards. Rejects with a StoreOpenError when the backup is incomplete or damaged.
 */
export async function verifyBackup(
  source: AsyncIterable<Buffer>,
  path: string,
  deps: RestoreDeps,
): Promise<BackupManifest> {
  removeLeftovers(path, '.unpacked');
  const directory = `${path}.${process.pid}.unpacked`;
  return reading(source, deps, async (reader, manifest) => {
    checkRoom(dirname(directory), deps);
    mkdirSync(directory, { mode: 0o700 });
    try {
      await unpack(reader, manifest, directory, deps);
      await readThrough(directory, deps.name);
      return manifest;
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
}

async function readThrough(directory: string, name: string): Promise<void> {
  const walk = await walkStore(directory, damageWalkOfBackupMsMax);
  if (walk.state === 'damaged')
    throw new StoreOpenError(`the store in ${name} is damaged, use another backup: ${walk.damage}`);
  if (walk.state !== 'whole')
    throw new StoreOpenError(`the store in ${name} could not be read to its end: try again`);
  await openStore(directory).close();
}
