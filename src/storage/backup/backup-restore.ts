/**
 * Restores a backup into an empty data directory, and unpacks one to be looked at. Files are made in `restore.unfinished` of the
 * directory and move up when all of them are whole; while that folder is there nobody opens a store beside it, and a killed
 * restore can be repeated. Source: docs/adr/0026.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { prepareDataDirectory, livingPid, ServerLock } from '../lmdb/data-directory.ts';
import { syncDirectory } from '../keys/private-file.ts';
import { unfinishedRestore } from '../lmdb/store-access.ts';
import { storeFileNames, StoreOpenError } from '../lmdb/store-format.ts';
import { restoredRoomFactor } from '../lmdb/store-limits.ts';
import { freeBytesOf } from '../lmdb/free-bytes.ts';
import { refuseFull } from './backup-room.ts';
import { countRows, isOtherFileName, type BackupManifest } from './backup-format.ts';
import { BackupReader } from './backup-reader.ts';
import { checkBackupFormat, unpackBackup } from './unpack-backup.ts';

export interface RestoreProgress {
  /** `placing`: the backup was whole, and its files move to their places. */
  readonly phase: 'restoring' | 'placing';
  readonly done: number;
  /** Rows, or files. */
  readonly inAll: number;
}

export interface RestoreDeps {
  /** As people call the backup. */
  readonly name: string;
  /** Of the backup; null: nobody knows. */
  readonly bytes: number | null;
  readonly onProgress?: (progress: RestoreProgress) => void;
  /** Aborted: it ends, with the signal's reason, and leaves nothing. */
  readonly signal?: AbortSignal;
  /** Bytes that the disk of a directory has for us. */
  readonly freeBytes?: (directory: string) => number;
}

/**
 * `path`: of a data directory that is empty, or not there. Rejects with a StoreOpenError, and then has made nothing, unless the
 * files were whole and could not be placed.
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

/** Removes the directory and its parents up to `made`, as far as they are empty. */
function removeMade(directory: string, made: string): void {
  try {
    for (let at = directory; at.startsWith(made); at = dirname(at)) rmdirSync(at);
  } catch {
    // Files that could not be placed, or another process, are in it.
  }
}

/** Into a directory that is made, which may then be opened and is to be removed: here if it rejects. */
export async function unpackToLookAt(
  source: AsyncIterable<Buffer>,
  directory: string,
  deps: RestoreDeps,
): Promise<BackupManifest> {
  return reading(source, deps, async (reader, manifest) => {
    checkRoom(dirname(directory), deps);
    mkdirSync(directory, { mode: 0o700 });
    try {
      await unpack(reader, manifest, directory, deps);
      return manifest;
    } catch (error) {
      rmSync(directory, { recursive: true, force: true });
      throw error;
    }
  });
}

/** What cannot be restored by this release is told before anything is made. */
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

/** A volume of its own has this folder from the start; a lock is looked at as a lock. */
const foundInEmpty = new Set(['lost+found', 'server.lock']);

/** Throws a StoreOpenError: only what is empty, or holds an unfinished restore, is restored into. */
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

/** Whether a restore makes something of this name. */
function isRestored(name: string): boolean {
  const ofStore = Object.values(storeFileNames).some((file) => name === file || name === `${file}-lock`);
  return name === unfinishedRestore || ofStore || isOtherFileName(name);
}

/** What a killed restore has left. */
function clearUnfinished(directory: string): void {
  const names = readdirSync(directory);
  if (!names.includes(unfinishedRestore)) return;
  // The folder goes last: without it, the rest would look like a store.
  const others = names.filter((name) => name !== unfinishedRestore && isRestored(name));
  for (const name of [...others, unfinishedRestore])
    rmSync(join(directory, name), { recursive: true, force: true });
}

async function placeAll(directory: string, { onProgress }: RestoreDeps): Promise<void> {
  const unfinished = join(directory, unfinishedRestore);
  // LMDB's own lock files are of the process that made the store.
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
