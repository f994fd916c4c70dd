/**
 * Lines of the audit log and the files that hold them: `audit.log`, and the rotated ones, of which `audit.log.1` is the newest. A
 * line is one JSON object, padded with blanks: it is written with the result `unknown` before the change and overwritten in place
 * afterwards, so that a change has one line and a full disk cannot hide its result. Any process of the owner can read the files while
 * the server writes; a rotated file is recognised by its inode.
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
import { unlessMissing } from '../keys/private-file.ts';

/** `age` 0: the current file. */
export function auditPath(directory: string, age = 0): string {
  return join(directory, age === 0 ? 'audit.log' : `audit.log.${age}`);
}

/** A position in the files that stays valid across rotations. */
export interface AuditPlace {
  readonly inode: number;
  readonly offset: number;
}

/** Before all files. */
const beginning: AuditPlace = { inode: 0, offset: 0 };

interface PlacedLine {
  readonly line: AuditLine;
  readonly place: AuditPlace;
}

const pieceBytes = 64 * 1024;
const lineFeed = 0x0a;

export class AuditFiles {
  readonly #directory: string;
  readonly #from: AuditPlace;
  /** Oldest first. */
  #files: readonly AuditFile[] = [];

  /** `from`: start position; if its file is gone, reading starts with the oldest file. */
  constructor(directory: string, from = beginning) {
    this.#directory = directory;
    this.#from = from;
  }

  get end(): AuditPlace {
    return this.#files.at(-1)?.end ?? this.#from;
  }

  /** Lines after the start position, oldest first. */
  async *read(): AsyncGenerator<PlacedLine, void, undefined> {
    this.#files = await this.#openFiles();
    for (const file of this.#files) yield* file.rest();
  }

  async close(): Promise<void> {
    for (const file of this.#files) await file.close();
  }

  /** Newest first: a concurrent rotation shows a file twice, which is detected, and hides none. */
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

  /** Null: the file does not exist. */
  static async open(path: string): Promise<AuditFile | null> {
    const handle = await open(path, 'r').catch(unlessMissing);
    return handle && new AuditFile(handle, await handle.stat());
  }

  get end(): AuditPlace {
    return { inode: this.inode, offset: this.#offset };
  }

  /** An offset beyond the end belongs to another file: this one is read from the start. */
  skipTo(offset: number): void {
    if (offset <= this.#size) this.#offset = offset;
  }

  /** Complete audit lines after those already read. */
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

  /** Bytes from the offset to the last line feed of a piece. A full piece without one contains no audit line. */
  async #whole(): Promise<Buffer> {
    const piece = Buffer.alloc(pieceBytes);
    const { bytesRead } = await this.#handle.read(piece, 0, pieceBytes, this.#offset);
    const end = piece.subarray(0, bytesRead).lastIndexOf(lineFeed) + 1;
    return piece.subarray(0, end === 0 && bytesRead === pieceBytes ? pieceBytes : end);
  }
}

export function begunLine(intent: AuditIntent, atMs: number): AuditLine {
  const { operator, role, user, from, action, ids } = intent;
  const at = new Date(atMs).toISOString();
  const who = { operator, role, ...(user !== undefined && { user }), from };
  return { at, ...who, action, ids: shownIds(ids), result: 'unknown' };
}

export function endedLine(begun: AuditLine, { result, reason, ids = {} }: AuditOutcome): AuditLine {
  return {
    ...begun,
    ids: { ...begun.ids, ...shownIds(ids) },
    result,
    ...(reason !== undefined && { reason: cut(maskUrlsIn(reason)) }),
  };
}

/** Includes the line feed, and space for the fields added at the end of the change. */
export function encodeBegun(line: AuditLine): Buffer {
  const text = JSON.stringify(line);
  return padded(text, Buffer.byteLength(text) + auditOutcomeBytes);
}

/** Exactly `bytes` long: drops fields that do not fit, but never the result. */
export function encodeEnded(begun: AuditLine, outcome: AuditOutcome, bytes: number): Buffer {
  const { result, ids = {} } = outcome;
  const forms: readonly AuditOutcome[] = [outcome, { result, ids }, { result }];
  const texts = forms.map((form) => JSON.stringify(endedLine(begun, form)));
  const text = texts.find((each) => Buffer.byteLength(each) < bytes) ?? '';
  return padded(text, bytes - 1);
}

/** Null: not an audit line, or incomplete. */
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

/** Truncates long values and masks URLs. */
function shownIds(ids: AuditIds): AuditIds {
  const entries = Object.entries(ids) as [AuditId, unknown][];
  return Object.fromEntries(
    entries.flatMap(([name, value]) => {
      const shown = name === 'url' && typeof value === 'string' ? maskUrl(value) : value;
      // One request can name this many devices.
      const item = shownValue(shown, name === 'device_ids' ? devicesAddedMax : auditListItemsMax);
      return item === undefined ? [] : [[name, item]];
    }),
  );
}

/** Accepts scalars, lists of strings and counts; any other value comes from an invalid body and is omitted. */
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
