/**
 * The files of the audit log, read: `audit.log`, and the rotated ones, `audit.log.1` the youngest of them. They can be
 * read by any process of their owner while the server writes; one that is renamed meanwhile is known by its inode.
 */
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuditLine } from '../../model/audit.ts';
import { auditOldFilesMax } from '../../model/limits.ts';
import { parseAuditLine } from './audit-line.ts';

/** `age` 0: the one that is written. */
export function auditPath(directory: string, age = 0): string {
  return join(directory, age === 0 ? 'audit.log' : `audit.log.${age}`);
}

/** Where a line stands, so that it can be looked at again. */
export interface PlacedLine {
  readonly line: AuditLine;
  /** Reads the same line anew: its result may be known now. */
  again(): Promise<AuditLine>;
}

const pieceBytes = 64 * 1024;
const lineFeed = 0x0a;

export class AuditFiles {
  readonly #directory: string;
  /** Open ones, the oldest first; the last one is the one that was written last. */
  readonly #files: AuditFile[] = [];

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** The lines that were written since the last call, the oldest first; at the first call all that are kept. */
  async *read(): AsyncGenerator<PlacedLine, void, undefined> {
    const newer = await this.#openNewer();
    const known = this.#files.at(-1);
    this.#files.push(...newer);
    if (known !== undefined) yield* known.rest();
    for (const file of newer) yield* file.rest();
  }

  /** Closes all but those that lines may still be looked at in. */
  async closeOld(keep: number): Promise<void> {
    for (const file of this.#files.splice(0, Math.max(0, this.#files.length - keep))) await file.close();
  }

  /** Newest first, so that a rotation meanwhile shows one twice, which is noticed, and hides none. */
  async #openNewer(): Promise<readonly AuditFile[]> {
    const newer: AuditFile[] = [];
    const inodes = new Set(this.#files.map(({ inode }) => inode));
    const known = this.#files.at(-1)?.inode;
    for (let age = 0; age <= auditOldFilesMax; age++) {
      const file = await AuditFile.open(auditPath(this.#directory, age));
      if (file === null) continue;
      const isKnown = inodes.has(file.inode);
      inodes.add(file.inode);
      if (isKnown) await file.close();
      else newer.unshift(file);
      if (file.inode === known) break;
    }
    return newer;
  }
}

class AuditFile {
  readonly inode: number;
  readonly #handle: FileHandle;
  #offset = 0;
  #isClosed = false;

  private constructor(handle: FileHandle, inode: number) {
    this.#handle = handle;
    this.inode = inode;
  }

  /** Null: there is none. */
  static async open(path: string): Promise<AuditFile | null> {
    try {
      const handle = await open(path, 'r');
      return new AuditFile(handle, (await handle.stat()).ino);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  }

  /** Whole lines of ours behind those that were read. */
  async *rest(): AsyncGenerator<PlacedLine, void, undefined> {
    for (;;) {
      const bytes = await this.#whole();
      if (bytes.length === 0) return;
      const start = this.#offset;
      this.#offset += bytes.length;
      for (let from = 0, to = 0; from < bytes.length; from = to) {
        to = bytes.indexOf(lineFeed, from) + 1 || bytes.length;
        const line = parseAuditLine(bytes.toString('utf8', from, to));
        const position = start + from;
        const length = to - from;
        if (line !== null) yield { line, again: () => this.#lineAt(position, length, line) };
      }
    }
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return this.#handle.close();
  }

  /** From the offset to the last line feed of a piece; a piece without one is none of ours. */
  async #whole(): Promise<Buffer> {
    const piece = Buffer.alloc(pieceBytes);
    const { bytesRead } = await this.#handle.read(piece, 0, pieceBytes, this.#offset);
    const end = piece.subarray(0, bytesRead).lastIndexOf(lineFeed) + 1;
    return piece.subarray(0, end === 0 && bytesRead === pieceBytes ? pieceBytes : end);
  }

  async #lineAt(position: number, length: number, before: AuditLine): Promise<AuditLine> {
    if (this.#isClosed) return before;
    const bytes = Buffer.alloc(length);
    await this.#handle.read(bytes, 0, length, position);
    return parseAuditLine(bytes.toString('utf8')) ?? before;
  }
}
