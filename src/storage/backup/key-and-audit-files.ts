/**
 * Files of a data directory that a backup includes, apart from LMDB's: tokens, keys and the audit log. All are opened at once, so
 * that a rotation or a new token does not change the copy.
 */
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { auditOldFilesMax } from '../../model/limits.ts';
import { auditPath } from '../audit/audit-files.ts';
import { unlessMissing } from '../keys/private-file.ts';
import { backupPieceBytes } from '../lmdb/store-limits.ts';
import { StoreOpenError } from '../lmdb/store-format.ts';
import { keyFileNames } from './backup-format.ts';

export class OpenFile {
  readonly name: string;
  /** Size when the file was opened; bytes appended later are not read. */
  readonly bytes: number;
  readonly #handle: FileHandle;

  constructor(name: string, bytes: number, handle: FileHandle) {
    this.name = name;
    this.bytes = bytes;
    this.#handle = handle;
  }

  async *read(): AsyncGenerator<Buffer, void, undefined> {
    for (let at = 0; at < this.bytes;) {
      const length = Math.min(backupPieceBytes, this.bytes - at);
      const { bytesRead, buffer } = await this.#handle.read(Buffer.alloc(length), 0, length, at);
      if (bytesRead === 0)
        throw new StoreOpenError(`${this.name} was cut short while it was copied: try again`);
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/** Opens all files that exist; the caller closes them. */
export async function openKeyAndAuditFiles(directory: string): Promise<readonly OpenFile[]> {
  const files: OpenFile[] = [];
  try {
    for (const name of keyFileNames) {
      const file = await openNamed(join(directory, name), name);
      if (file !== null) files.push(file);
    }
    files.push(...(await openAuditFiles(directory)));
    return files;
  } catch (error) {
    for (const file of files) await file.close();
    throw error;
  }
}

/** Newest first: a concurrent rotation shows a file twice, which is detected, and hides none. */
async function openAuditFiles(directory: string): Promise<OpenFile[]> {
  const files: OpenFile[] = [];
  const inodes = new Set<number>();
  for (let age = 0; age <= auditOldFilesMax; age++) {
    const handle = await open(auditPath(directory, age), 'r').catch(unlessMissing);
    if (handle === null) continue;
    const { ino, size } = await handle.stat();
    if (inodes.has(ino)) await handle.close();
    else files.push(new OpenFile(auditPath('', files.length), size, handle));
    inodes.add(ino);
  }
  return files;
}

async function openNamed(path: string, name: string): Promise<OpenFile | null> {
  const handle = await open(path, 'r').catch(unlessMissing);
  return handle === null ? null : new OpenFile(name, (await handle.stat()).size, handle);
}
