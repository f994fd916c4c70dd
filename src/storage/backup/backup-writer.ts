/** Backs up the open store of this process as pieces of bytes. Source: docs/adr/0026. */
import { createHash } from 'node:crypto';
import { assert } from '../../lib/assert.ts';
import { readVersion } from '../../lib/package-version.ts';
import { storeFormat } from '../lmdb/store-format.ts';
import { backupPieceBytes } from '../lmdb/store-limits.ts';
import {
  backupRowHeadBytes,
  backupValueBytesMax,
  encodeBackupHead,
  type BackupManifest,
  type BackupRow,
} from './backup-format.ts';
import { openKeyAndAuditFiles, type OpenFile } from './key-and-audit-files.ts';
import { StoreSnapshot } from './store-snapshot.ts';

export interface OpenBackup {
  /** Maximum size of the backup, to check for free space. */
  readonly bytesMax: number;
  readonly pieces: AsyncIterable<Buffer>;
  /** Releases the snapshot and the open files. */
  close(): Promise<void>;
}

/** `directory`: this process owns its lock; `nowMs`: wall time. Rejects with a StoreOpenError or the system's error. */
export async function openBackup(directory: string, nowMs: number): Promise<OpenBackup> {
  const store = await StoreSnapshot.open(directory);
  let files: readonly OpenFile[] = [];
  const close = async (): Promise<void> => {
    await store.close();
    for (const file of files) await file.close();
  };
  try {
    files = await openKeyAndAuditFiles(directory);
  } catch (error) {
    await close();
    throw error;
  }
  // Rows are at most as large as the pages that contain them.
  const bytesMax = [...store.tables, ...files].reduce((sum, { bytes }) => sum + bytes, 0);
  return { bytesMax, pieces: withDigest(piecesOf(store, files, nowMs)), close };
}

async function* piecesOf(
  { tables }: StoreSnapshot,
  files: readonly OpenFile[],
  nowMs: number,
): AsyncGenerator<Buffer, void, undefined> {
  const manifest: BackupManifest = {
    release: readVersion(),
    store_format: storeFormat,
    at: new Date(nowMs).toISOString(),
    tables: tables.map(({ file, name, rows }) => ({ file, name, rows })),
    files: files.map(({ name, bytes }) => ({ name, bytes })),
  };
  yield encodeBackupHead(manifest);
  for (const table of tables) yield* encodeRows(table.read());
  for (const file of files) yield* file.read();
}

async function* withDigest(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  const hash = createHash('sha256');
  for await (const piece of pieces) {
    hash.update(piece);
    yield piece;
  }
  yield hash.digest();
}

function* encodeRows(rows: Iterable<BackupRow>): Generator<Buffer, void, undefined> {
  let piece = Buffer.allocUnsafe(backupPieceBytes);
  let at = 0;
  for (const { key, value } of rows) {
    assert(value.length <= backupValueBytesMax, 'no row of ours is longer');
    const bytes = backupRowHeadBytes + key.length + value.length;
    if (at + bytes > piece.length) {
      if (at > 0) yield piece.subarray(0, at);
      piece = Buffer.allocUnsafe(Math.max(bytes, backupPieceBytes));
      at = 0;
    }
    piece.writeUInt16BE(key.length, at);
    piece.writeUInt32BE(value.length, at + 2);
    at += backupRowHeadBytes;
    at += key.copy(piece, at);
    at += value.copy(piece, at);
  }
  if (at > 0) yield piece.subarray(0, at);
}
