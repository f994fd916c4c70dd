/**
 * The lines of the audit log and the files they are read from: `audit.log`, and the rotated ones, `audit.log.1` the
 * youngest of them. A line is one JSON object, then blanks up to its length: it is written with the result `unknown` before
 * the change, and written over in its place behind it, so that a change has one line and a full disk cannot hide how it
 * ended. Files can be read by any process of their owner while the server writes; one that is renamed meanwhile is known
 * by its inode.
 */
import type { Stats } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuditLine, AuditId, AuditIds, AuditIntent, AuditOutcome } from '../../model/audit.ts';
import {
  auditOldFilesMax,
  auditListItemsMax,
  auditOutcomeBytes,
  auditTextCharactersMax,
} from '../../model/limits.ts';
import { devicesAddedMax } from '../../model/provisioning-limits.ts';
import { maskUrl, maskUrlsIn } from '../../model/registry.ts';

/** `age` 0: the one that is written. */
export function auditPath(directory: string, age = 0): string {
  return join(directory, age === 0 ? 'audit.log' : `audit.log.${age}`);
}

/** A place in the files, which a rotation does not change. */
export interface AuditPlace {
  readonly inode: number;
  readonly offset: number;
}

/** No file is this one: everything that is kept is behind it. */
const beginning: AuditPlace = { inode: 0, offset: 0 };

interface PlacedLine {
  readonly line: AuditLine;
  /** Of its first byte. */
  readonly place: AuditPlace;
}

const pieceBytes = 64 * 1024;
const lineFeed = 0x0a;

/** One reading of the files. */
export class AuditFiles {
  readonly #directory: string;
  readonly #from: AuditPlace;
  /** The oldest first; the last one is the one that was written last. */
  #files: readonly AuditFile[] = [];

  /** `from`: where reading begins; where its file is not kept any more, with the oldest that is. */
  constructor(directory: string, from = beginning) {
    this.#directory = directory;
    this.#from = from;
  }

  /** Behind the last line that was read. */
  get end(): AuditPlace {
    return this.#files.at(-1)?.end ?? this.#from;
  }

  /** The lines behind the place, the oldest first. */
  async *read(): AsyncGenerator<PlacedLine, void, undefined> {
    this.#files = await this.#openFiles();
    for (const file of this.#files) yield* file.rest();
  }

  async close(): Promise<void> {
    for (const file of this.#files) await file.close();
  }

  /** Newest first, so that a rotation meanwhile shows one twice, which is noticed, and hides none. */
  async #openFiles(): Promise<readonly AuditFile[]> {
    const files: AuditFile[] = [];
    const { inode, offset } = this.#from;
    for (let age = 0; age <= auditOldFilesMax; age++) {
      const file = await AuditFile.open(auditPath(this.#directory, age));
      if (file === null) continue;
      if (files.some((opened) => opened.inode === file.inode)) {
        await file.close();
        continue;
      }
      files.unshift(file);
      if (file.inode !== inode) continue;
      file.skipTo(offset);
      break;
    }
    return files;
  }
}

class AuditFile {
  readonly inode: number;
  readonly #handle: FileHandle;
  readonly #size: number;
  #offset = 0;

  private constructor(handle: FileHandle, { ino, size }: Stats) {
    this.#handle = handle;
    this.inode = ino;
    this.#size = size;
  }

  /** Null: there is none. */
  static async open(path: string): Promise<AuditFile | null> {
    try {
      const handle = await open(path, 'r');
      return new AuditFile(handle, await handle.stat());
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  }

  get end(): AuditPlace {
    return { inode: this.inode, offset: this.#offset };
  }

  /** A place behind the end is one of another file: this one is read from its beginning. */
  skipTo(offset: number): void {
    if (offset <= this.#size) this.#offset = offset;
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
        if (line !== null) yield { line, place: { inode: this.inode, offset: start + from } };
      }
    }
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  /** From the offset to the last line feed of a piece; a piece without one is none of ours. */
  async #whole(): Promise<Buffer> {
    const piece = Buffer.alloc(pieceBytes);
    const { bytesRead } = await this.#handle.read(piece, 0, pieceBytes, this.#offset);
    const end = piece.subarray(0, bytesRead).lastIndexOf(lineFeed) + 1;
    return piece.subarray(0, end === 0 && bytesRead === pieceBytes ? pieceBytes : end);
  }
}

/** A line whose change is under way. */
export function begunLine(intent: AuditIntent, atMs: number): AuditLine {
  const { operator, role, user, from, action, ids } = intent;
  const at = new Date(atMs).toISOString();
  const who = { operator, role, ...(user !== undefined && { user }), from };
  return { at, ...who, action, ids: shownIds(ids), result: 'unknown' };
}

/** The same line, once it is known how it ended. */
export function endedLine(begun: AuditLine, { result, reason, ids = {} }: AuditOutcome): AuditLine {
  return {
    ...begun,
    ids: { ...begun.ids, ...shownIds(ids) },
    result,
    ...(reason !== undefined && { reason: cut(maskUrlsIn(reason)) }),
  };
}

/** With its line feed, and room for what the end of the change adds. */
export function encodeBegun(line: AuditLine): Buffer {
  const text = JSON.stringify(line);
  return padded(text, Buffer.byteLength(text) + auditOutcomeBytes);
}

/** `bytes` long: as much of the line as has room, its result in any case. */
export function encodeEnded(begun: AuditLine, outcome: AuditOutcome, bytes: number): Buffer {
  const { result, ids = {} } = outcome;
  const forms: readonly AuditOutcome[] = [outcome, { result, ids }, { result }];
  const texts = forms.map((form) => JSON.stringify(endedLine(begun, form)));
  const text = texts.find((each) => Buffer.byteLength(each) < bytes) ?? '';
  return padded(text, bytes - 1);
}

/** Null: no line of ours, or half of one. */
function parseAuditLine(text: string): AuditLine | null {
  try {
    const line: unknown = JSON.parse(text);
    const isOurs = typeof line === 'object' && line !== null && 'action' in line && 'result' in line;
    return isOurs ? (line as AuditLine) : null;
  } catch {
    return null;
  }
}

function padded(text: string, bytes: number): Buffer {
  return Buffer.from(`${text}${' '.repeat(bytes - Buffer.byteLength(text))}\n`);
}

/** As long as a line may be, and without what is none of a log's business. */
function shownIds(ids: AuditIds): AuditIds {
  const entries = Object.entries(ids) as [AuditId, unknown][];
  return Object.fromEntries(
    entries.flatMap(([name, value]) => {
      const shown = name === 'url' && typeof value === 'string' ? maskUrl(value) : value;
      // All that one request can name.
      const item = shownValue(shown, name === 'device_ids' ? devicesAddedMax : auditListItemsMax);
      return item === undefined ? [] : [[name, item]];
    }),
  );
}

/** Scalars, lists of texts and counts; anything else comes from a body that is none, and is left out. */
function shownValue(value: unknown, itemsMax: number): unknown {
  if (typeof value === 'string') return cut(value);
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if (Array.isArray(value))
    return value.slice(0, itemsMax).map((item) => (typeof item === 'string' ? cut(item) : '…'));
  if (typeof value !== 'object' || value === null) return undefined;
  const counts = Object.entries(value).filter(([, count]) => typeof count === 'number');
  return Object.fromEntries(counts.slice(0, auditListItemsMax).map(([name, count]) => [cut(name), count]));
}

function cut(text: string): string {
  if (text.length <= auditTextCharactersMax) return text;
  return `${text.slice(0, auditTextCharactersMax - 1)}…`;
}
