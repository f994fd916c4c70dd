/**
 * Makes a backup of a data directory, whether or not a server runs on it: as bytes, or as a file that appears under its name
 * when it is whole and the disk has it. Source: docs/adr/0026.
 */
import { createHash } from 'node:crypto';
import { readSync, openSync, closeSync } from 'node:fs';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { readVersion } from '../../lib/package-version.ts';
import { syncDirectory } from '../keys/private-file.ts';
import { storeFormat, StoreOpenError } from '../lmdb/store-format.ts';
import { backupPieceBytes } from '../lmdb/store-limits.ts';
import {
  backupMagic,
  backupRowHeadBytes,
  backupValueBytesMax,
  countRows,
  encodeBackupHead,
  type BackupManifest,
} from './backup-format.ts';
import { freeBytesOf } from '../lmdb/free-bytes.ts';
import { refuseFull } from './backup-room.ts';
import type { BackupRow } from './backup-reader.ts';
import { holdFiles, type HeldFile } from './key-and-audit-files.ts';
import { removeLeftovers } from '../lmdb/leftovers.ts';
import { StoreMoment, type MomentTable } from './store-moment.ts';
import { assert } from '../../lib/assert.ts';

export interface BackupProgress {
  /** `placing`: all of it is written, and nothing has the file's name yet. */
  readonly phase: 'copying' | 'placing';
  readonly rows: number;
  readonly rowsInAll: number;
}

export interface BackupDeps {
  /** Wall milliseconds. */
  readonly nowMs: number;
  readonly onProgress?: (progress: BackupProgress) => void;
  /** Aborted: the backup ends, with the signal's reason, and leaves nothing. */
  readonly signal?: AbortSignal;
  /** Bytes that the disk of a directory has for us. */
  readonly freeBytes?: (directory: string) => number;
}

export interface WrittenBackup {
  readonly manifest: BackupManifest;
  readonly bytes: number;
  /** Of all that stands before it in the file; lowercase hex. */
  readonly sha256: string;
}

/** Where the bytes go, each before the next is made. */
type Write = (piece: Buffer) => Promise<void>;

/** In place of what has the name now, if that is a backup. Mode 0600. Rejects with a StoreOpenError or the system's error. */
export async function writeBackupFile(
  directory: string,
  file: string,
  deps: BackupDeps,
): Promise<WrittenBackup> {
  const path = resolve(file);
  refuseOther(path);
  removeLeftovers(path, '.partial');
  const own = `${path}.${process.pid}.partial`;
  let target: FileHandle | null = null;
  try {
    const written = await copyMoment(directory, deps, async (moment) => {
      checkRoom(moment, dirname(path), deps.freeBytes ?? freeBytesOf);
      const opened = (target = await open(own, 'wx', 0o600));
      return (piece) => writeAll(opened, piece);
    });
    await placeFile(target, own, path, () => deps.onProgress?.(placing(written.manifest)));
    return written;
  } catch (error) {
    await (target as FileHandle | null)?.close();
    await rm(own, { force: true });
    throw error;
  }
}

/** For a pipe. */
export function streamBackup(directory: string, write: Write, deps: BackupDeps): Promise<WrittenBackup> {
  return copyMoment(directory, deps, () => Promise.resolve(write));
}

async function placeFile(
  target: FileHandle | null,
  own: string,
  path: string,
  onPlacing: () => void,
): Promise<void> {
  assert(target !== null, 'the file is open');
  await target.sync();
  await target.close();
  onPlacing();
  await rename(own, path);
  await syncDirectory(dirname(path));
}

/** `begin`: what there is to write is known. */
async function copyMoment(
  directory: string,
  deps: BackupDeps,
  begin: (moment: Moment) => Promise<Write>,
): Promise<WrittenBackup> {
  const store = await StoreMoment.take(resolve(directory));
  let files: readonly HeldFile[] = [];
  try {
    files = await holdFiles(resolve(directory));
    const moment = { tables: store.tables, files };
    return await copyAll(moment, await begin(moment), deps);
  } finally {
    await store.close();
    for (const file of files) await file.close();
  }
}

interface Moment {
  readonly tables: readonly MomentTable[];
  readonly files: readonly HeldFile[];
}

async function copyAll({ tables, files }: Moment, write: Write, deps: BackupDeps): Promise<WrittenBackup> {
  const manifest: BackupManifest = {
    release: readVersion(),
    store_format: storeFormat,
    at: new Date(deps.nowMs).toISOString(),
    tables: tables.map(({ file, name, rows }) => ({ file, name, rows })),
    files: files.map(({ name, bytes }) => ({ name, bytes })),
  };
  const hash = createHash('sha256');
  const progress = { phase: 'copying', rows: 0, rowsInAll: countRows(manifest) } as const;
  let [bytes, rows] = [0, 0];
  const put = async (piece: Buffer): Promise<void> => {
    deps.signal?.throwIfAborted();
    hash.update(piece);
    bytes += piece.length;
    await write(piece);
    deps.onProgress?.({ ...progress, rows });
  };
  await put(encodeBackupHead(manifest));
  for (const table of tables) {
    let copied = 0;
    for (const piece of encodeRows(table.read(), () => (copied += 1))) {
      await put(piece);
      rows += copied;
      copied = 0;
    }
  }
  for (const file of files) for await (const piece of file.read()) await put(piece);
  const digest = hash.digest();
  await write(digest);
  return { manifest, bytes: bytes + digest.length, sha256: digest.toString('hex') };
}

function placing(manifest: BackupManifest): BackupProgress {
  const rows = countRows(manifest);
  return { phase: 'placing', rows, rowsInAll: rows };
}

/** Pieces of about `backupPieceBytes`, each good until the next is asked for. */
function* encodeRows(rows: Iterable<BackupRow>, onRow: () => void): Generator<Buffer, void, undefined> {
  let piece = Buffer.allocUnsafe(backupPieceBytes);
  let at = 0;
  for (const { key, value } of rows) {
    assert(value.length <= backupValueBytesMax, 'no row of ours is longer');
    const bytes = backupRowHeadBytes + key.length + value.length;
    if (at + bytes > piece.length) {
      if (at > 0) yield piece.subarray(0, at);
      if (bytes > piece.length) piece = Buffer.allocUnsafe(bytes);
      at = 0;
    }
    piece.writeUInt16BE(key.length, at);
    piece.writeUInt32BE(value.length, at + 2);
    at += backupRowHeadBytes;
    at += key.copy(piece, at);
    at += value.copy(piece, at);
    onRow();
  }
  if (at > 0) yield piece.subarray(0, at);
}

async function writeAll(target: FileHandle, piece: Buffer): Promise<void> {
  for (let at = 0; at < piece.length;) at += (await target.write(piece, at)).bytesWritten;
}

/** Rows take no more in a backup than the pages they lie on. */
function checkRoom(
  { tables, files }: Moment,
  directory: string,
  freeBytes: (directory: string) => number,
): void {
  const needed = [...tables, ...files].reduce((sum, { bytes }) => sum + bytes, 0);
  refuseFull('the backup', needed, directory, freeBytes(directory));
}

/** A mistyped name must cost nobody a file. Throws a StoreOpenError. */
function refuseOther(path: string): void {
  const begins = beginningOf(path);
  if (begins === null || begins.equals(backupMagic)) return;
  throw new StoreOpenError(`${path} is there and is no backup: name another file, or remove that one`);
}

function beginningOf(path: string): Buffer | null {
  const head = Buffer.alloc(backupMagic.length);
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    return head.subarray(0, readSync(file, head));
  } finally {
    closeSync(file);
  }
}
