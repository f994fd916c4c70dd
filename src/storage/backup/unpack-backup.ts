/**
 * Creates the files of a data directory from a backup. When it resolves, they are complete and on disk; when it rejects, they must
 * not be used.
 */
import { open as openFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { open, type RootDatabase } from 'lmdb';
import { pack } from 'msgpackr';
import { nextTurn } from '../../lib/clock.ts';
import { countEntries, environmentOptions } from '../lmdb/environment.ts';
import { syncDirectory } from '../keys/private-file.ts';
import { storeFileNames, storeFormat, StoreFormatError, storeFormatName } from '../lmdb/store-format.ts';
import { restoredRowsSlice } from '../lmdb/store-limits.ts';
import {
  damagedBackup,
  type BackupManifest,
  type BackupTable,
  type BackupReader,
  type BackupRow,
} from './backup-format.ts';

export interface Unpacking {
  readonly reader: BackupReader;
  readonly manifest: BackupManifest;
  /** Name of the backup in errors. */
  readonly name: string;
  /** An empty directory that no other process uses. */
  readonly directory: string;
  readonly onRows: (rows: number) => void;
  readonly signal?: AbortSignal | undefined;
}

/** Throws a StoreFormatError when this release cannot read the rows. */
export function checkBackupFormat({ store_format: format }: BackupManifest, name: string): void {
  if (format !== storeFormat) throw new StoreFormatError(name, format);
}

/** Rejects with a StoreOpenError when the backup is incomplete, and with the system's errors. */
export async function unpackBackup(unpacking: Unpacking): Promise<void> {
  const { reader, manifest, directory } = unpacking;
  for (const kind of Object.keys(storeFileNames) as (keyof typeof storeFileNames)[]) {
    const tables = manifest.tables.filter(({ file }) => file === kind);
    if (tables.length > 0) await unpackStoreFile(unpacking, storeFileNames[kind], tables);
  }
  for (const { name, bytes } of manifest.files) {
    const options = { flag: 'wx', mode: 0o600, flush: true };
    await writeFile(join(directory, name), reader.bytes(bytes), options);
  }
  await reader.finish();
  await syncDirectory(directory);
}

async function unpackStoreFile(
  unpacking: Unpacking,
  fileName: string,
  tables: readonly BackupTable[],
): Promise<void> {
  const path = join(unpacking.directory, fileName);
  const options = { ...environmentOptions, encoding: 'binary' } as const;
  // Not synced per commit: the file is flushed before anyone reads it.
  const root = open<Buffer, Buffer>({ ...options, path, noSync: true, overlappingSync: false });
  try {
    root.putSync(Buffer.from(storeFormatName), pack(storeFormat));
    for (const table of tables) await unpackTable(unpacking, root, table);
  } finally {
    await root.close();
  }
  await flush(path);
}

async function unpackTable(
  { reader, name, onRows, signal }: Unpacking,
  root: RootDatabase<Buffer, Buffer>,
  { name: tableName, rows }: BackupTable,
): Promise<void> {
  const table = root.openDB<Buffer, Buffer>({
    name: tableName,
    keyEncoding: 'binary',
    encoding: 'binary',
  });
  const put = (slice: readonly BackupRow[]): void => {
    table.transactionSync(() => {
      // Rows are sorted, so `append` fills the pages in sequence.
      for (const { key, value } of slice) table.putSync(key, value, { append: true });
    });
    onRows(slice.length);
  };
  for await (const batch of reader.rows(rows)) {
    for (let at = 0; at < batch.length; at += restoredRowsSlice) {
      signal?.throwIfAborted();
      put(batch.slice(at, at + restoredRowsSlice));
      await nextTurn();
    }
  }
  if (countEntries(table) !== rows)
    throw damagedBackup(name, `${tableName} has a different number of rows than the manifest counts`);
}

async function flush(path: string): Promise<void> {
  const file = await openFile(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
