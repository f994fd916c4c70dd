/**
 * The files of a data directory beside those of LMDB that a backup has: tokens, keys and the audit log, held open so that a
 * rotation or a new token meanwhile changes nothing of what is copied.
 */
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { auditOldFilesMax } from '../../model/limits.ts';
import { auditPath } from '../audit/audit-files.ts';
import { backupPieceBytes } from '../lmdb/store-limits.ts';
import { StoreOpenError } from '../lmdb/store-format.ts';
import { keyFileNames } from './backup-format.ts';

export class HeldFile {
  readonly name: string;
  /** When it was opened; what is written behind them is not read. */
  readonly bytes: number;
  readonly #handle: FileHandle;

  constructor(name: string, bytes: number, handle: FileHandle) {
    this.name = name;
    this.bytes = bytes;
    this.#handle = handle;
  }

  /** Rejects when the file has become shorter. */
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

/** Those that are there. To be closed. */
export async function holdFiles(directory: string): Promise<readonly HeldFile[]> {
  const held: HeldFile[] = [];
  try {
    for (const name of keyFileNames) {
      const file = await hold(join(directory, name), name);
      if (file !== null) held.push(file);
    }
    held.push(...(await holdAudit(directory)));
    return held;
  } catch (error) {
    for (const file of held) await file.close();
    throw error;
  }
}

/** Newest first, so that a rotation meanwhile shows one twice, which is noticed, and hides none. */
async function holdAudit(directory: string): Promise<HeldFile[]> {
  const held: HeldFile[] = [];
  const inodes = new Set<number>();
  for (let age = 0; age <= auditOldFilesMax; age++) {
    const handle = await openIfThere(auditPath(directory, age));
    if (handle === null) continue;
    const { ino, size } = await handle.stat();
    if (inodes.has(ino)) await handle.close();
    else held.push(new HeldFile(auditName(held.length), size, handle));
    inodes.add(ino);
  }
  return held;
}

function auditName(age: number): string {
  return auditPath('', age);
}

async function hold(path: string, name: string): Promise<HeldFile | null> {
  const handle = await openIfThere(path);
  return handle === null ? null : new HeldFile(name, (await handle.stat()).size, handle);
}

async function openIfThere(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
