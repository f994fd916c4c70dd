/** A backup of the store that this process holds, as pieces of bytes. Source: docs/adr/0026. */
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
} from './backup-format.ts';
import type { BackupRow } from './backup-reader.ts';
import { holdFiles, type HeldFile } from './key-and-audit-files.ts';
import { StoreMoment } from './store-moment.ts';

export interface OpenBackup {
  /** A backup has no more bytes; the room to look for before it is written. */
  readonly bytesMax: number;
  readonly pieces: AsyncIterable<Buffer>;
  /** The pages and files of its moment are held until then. */
  close(): Promise<void>;
}

/** `directory`: its lock is this process's; `nowMs`: wall time. Rejects with a StoreOpenError or the system's error. */
export async function openBackup(directory: string, nowMs: number): Promise<OpenBackup> {
  const store = await StoreMoment.take(directory);
  let files: readonly HeldFile[] = [];
  const close = async (): Promise<void> => {
    await store.close();
    for (const file of files) await file.close();
  };
  try {
    files = await holdFiles(directory);
  } catch (error) {
    await close();
    throw error;
  }
  // Rows take no more in a backup than the pages they lie on.
  const bytesMax = [...store.tables, ...files].reduce((sum, { bytes }) => sum + bytes, 0);
  return { bytesMax, pieces: withDigest(piecesOf(store, files, nowMs)), close };
}

async function* piecesOf(
  { tables }: StoreMoment,
  files: readonly HeldFile[],
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

/** Pieces of about `backupPieceBytes`. */
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
