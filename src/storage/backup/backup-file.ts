/**
 * Writes a backup that arrives in pieces, and verifies it on the way, so that a cut or damaged one is detected. The file gets its
 * name once it is complete and on disk. Source: docs/adr/0026.
 */
import { statSync } from 'node:fs';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { syncDirectory } from '../keys/private-file.ts';
import { freeBytesOf, refuseFull } from '../lmdb/disk-room.ts';
import { removeLeftovers } from '../lmdb/leftovers.ts';
import { StoreOpenError } from '../lmdb/store-format.ts';
import { countRows, type BackupManifest, BackupReader } from './backup-format.ts';
import type { OpenBackup } from './backup-writer.ts';

export interface BackupProgress {
  /** `placing`: completely written, not renamed yet. */
  readonly phase: 'copying' | 'placing';
  readonly rows: number;
  readonly rowsInAll: number;
}

export interface BackupDeps {
  readonly onProgress?: (progress: BackupProgress) => void;
  /** Aborting ends the backup with the signal's reason, and leaves no file. */
  readonly signal?: AbortSignal;
  /** True: replaces an existing file. Default: refuses. */
  readonly replaces?: boolean;
  readonly freeBytes?: (directory: string) => number;
}

export interface WrittenBackup {
  readonly manifest: BackupManifest;
  readonly bytes: number;
  /** SHA-256 of all preceding bytes of the file; lowercase hex. */
  readonly sha256: string;
}

/** Creates the file with mode 0600. Rejects with a StoreOpenError, also when the name is taken, or with the system's error. */
export async function writeBackupFile(
  file: string,
  { pieces, bytesMax }: Omit<OpenBackup, 'close'>,
  deps: BackupDeps,
): Promise<WrittenBackup> {
  const path = resolve(file);
  const folder = dirname(path);
  refuseExisting(path, deps.replaces ?? false);
  removeLeftovers(path, '.partial');
  refuseFull('the backup', bytesMax, folder, (deps.freeBytes ?? freeBytesOf)(folder));
  const own = `${path}.${process.pid}.partial`;
  const target = await open(own, 'wx', 0o600);
  try {
    const written = await passBackup(pieces, (piece) => writeAll(target, piece), deps);
    await target.sync();
    await target.close();
    const rows = countRows(written.manifest);
    deps.onProgress?.({ phase: 'placing', rows, rowsInAll: rows });
    await rename(own, path);
    await syncDirectory(folder);
    return written;
  } catch (error) {
    await target.close();
    await rm(own, { force: true });
    throw error;
  }
}

/** `write` resolves when it can accept the next piece. */
export async function passBackup(
  pieces: AsyncIterable<Buffer>,
  write: (piece: Buffer) => Promise<void>,
  { onProgress, signal }: BackupDeps,
): Promise<WrittenBackup> {
  let bytes = 0;
  async function* passed(): AsyncGenerator<Buffer> {
    for await (const piece of pieces) {
      signal?.throwIfAborted();
      await write(piece);
      bytes += piece.length;
      yield piece;
    }
  }
  const reader = new BackupReader(passed(), 'the backup');
  const manifest = await reader.manifest();
  const progress = { phase: 'copying', rowsInAll: countRows(manifest) } as const;
  let rows = 0;
  for (const table of manifest.tables)
    for await (const batch of reader.rows(table.rows)) {
      rows += batch.length;
      onProgress?.({ ...progress, rows });
    }
  for (const file of manifest.files) for await (const _piece of reader.bytes(file.bytes));
  return { manifest, sha256: await reader.finish(), bytes };
}

async function writeAll(target: FileHandle, piece: Buffer): Promise<void> {
  for (let at = 0; at < piece.length;) at += (await target.write(piece, at)).bytesWritten;
}

function refuseExisting(path: string, replaces: boolean): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || (replaces && found.isFile())) return;
  throw new StoreOpenError(
    found.isFile()
      ? `${path} exists already: name another file, or replace it with --force`
      : `${path} is not a regular file: name a file for the backup`,
  );
}
