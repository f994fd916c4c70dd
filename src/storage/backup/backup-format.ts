/**
 * The backup format, version 1: a magic of sixteen bytes, the version and the length of the manifest (four bytes each, big-endian),
 * the manifest as JSON, the rows of each table and the bytes of each file in the order of the manifest, and the SHA-256 of all of it.
 * A row is the length of its key (two bytes) and value (four), then key and value as stored; rows ascend by key. Source:
 * docs/adr/0026.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { decodeJsonObject } from '../../lib/utf8.ts';
import { StoreOpenError } from '../lmdb/store-format.ts';

export const backupMagic = Buffer.from('reveille backup\n');
export const backupVersion = 1;

/** Bytes before the manifest: magic, version and length of the manifest. */
export const backupHeadBytes = backupMagic.length + 8;
export const backupManifestBytesMax = 1024 * 1024;
export const backupDigestBytes = 32;
/** Bytes before a row's key: the lengths of key and value. */
export const backupRowHeadBytes = 6;
export const backupKeyBytesMax = 1978;
/** Rows of a store have a few kilobytes at most. */
export const backupValueBytesMax = 64 * 1024 * 1024;
const tablesMax = 96;
const filesMax = 32;

/** Optional files of a data directory, apart from LMDB's: tokens, keys, and the audit log, newest first. */
export const keyFileNames = ['ops.token', 'ops-tokens.json', 'token-keys.json'] as const;
const otherFileForm = /^(?:ops\.token|ops-tokens\.json|token-keys\.json|audit\.log(?:\.[1-9])?)$/;

const tableForm = z.object({
  file: z.enum(['registry', 'state', 'webhooks']),
  name: z.string().regex(/^[a-z0-9-]{1,64}$/),
  rows: z.number().int().nonnegative(),
});
const fileForm = z.object({ name: z.string().regex(otherFileForm), bytes: z.number().int().nonnegative() });
const manifestForm = z.object({
  release: z.string().min(1).max(64),
  store_format: z.number().int().positive(),
  /** ISO 8601. */
  at: z.iso.datetime(),
  tables: z.array(tableForm).max(tablesMax),
  files: z.array(fileForm).max(filesMax),
});

export type BackupManifest = z.infer<typeof manifestForm>;
export type BackupTable = BackupManifest['tables'][number];

export function isOtherFileName(name: string): boolean {
  return otherFileForm.test(name);
}

export function countRows({ tables }: BackupManifest): number {
  return tables.reduce((sum, { rows }) => sum + rows, 0);
}

export function encodeBackupHead(manifest: BackupManifest): Buffer {
  const json = Buffer.from(JSON.stringify(manifest));
  const head = Buffer.alloc(backupHeadBytes);
  backupMagic.copy(head);
  head.writeUInt32BE(backupVersion, backupMagic.length);
  head.writeUInt32BE(json.length, backupMagic.length + 4);
  return Buffer.concat([head, json]);
}

/** Returns the length of the manifest. Throws a StoreOpenError that names the file as `name`. */
export function decodeBackupHead(head: Buffer, name: string): number {
  const version = head.readUInt32BE(backupMagic.length);
  if (version !== backupVersion)
    throw new StoreOpenError(
      `${name} has version ${version} of the backup format, and this release reads version ${backupVersion}: ` +
        `use the release that wrote it, or a later one`,
    );
  const bytes = head.readUInt32BE(backupMagic.length + 4);
  if (bytes > backupManifestBytesMax) throw damagedBackup(name, `a manifest of ${bytes} bytes`);
  return bytes;
}

/** Throws a StoreOpenError when the manifest is invalid. */
export function decodeManifest(bytes: Buffer, name: string): BackupManifest {
  const json = decodeJsonObject(bytes);
  if (!json.ok) throw damagedBackup(name, `its manifest is ${json.error}`);
  const parsed = manifestForm.safeParse(json.value);
  if (!parsed.success)
    throw damagedBackup(name, `its manifest has ${parsed.error.issues[0]?.path.join('.')}`);
  const names = [
    ...parsed.data.tables.map((table) => `${table.file} ${table.name}`),
    ...parsed.data.files.map((file) => file.name),
  ];
  if (new Set(names).size !== names.length) throw damagedBackup(name, 'its manifest names an item twice');
  return parsed.data;
}

export function damagedBackup(name: string, fault: string): StoreOpenError {
  return new StoreOpenError(`${name} is damaged (${fault}): nothing was restored; use another backup`);
}

export function cutBackup(name: string): StoreOpenError {
  return new StoreOpenError(
    `${name} is cut short: nothing was restored; use another backup, or copy it again`,
  );
}

export interface BackupRow {
  readonly key: Buffer;
  readonly value: Buffer;
}

/**
 * Reads a backup sequentially and once, with little of it in memory. The content is not verified before `finish` has checked the
 * checksum. Each call throws a StoreOpenError that names the file.
 */
export class BackupReader {
  readonly #name: string;
  readonly #source: AsyncIterator<Buffer>;
  readonly #hash = createHash('sha256');
  #window: Buffer = Buffer.alloc(0);

  /** `name`: name of the file in errors. */
  constructor(source: AsyncIterable<Buffer>, name: string) {
    this.#name = name;
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Call first. */
  async manifest(): Promise<BackupManifest> {
    await this.#fill(backupHeadBytes);
    const begins = this.#window.subarray(0, backupMagic.length);
    if (!begins.equals(backupMagic.subarray(0, begins.length)))
      throw new StoreOpenError(
        `${this.#name} is not a backup of Reveille: name a file that reveille backup wrote`,
      );
    const bytes = decodeBackupHead(await this.#consume(backupHeadBytes), this.#name);
    return decodeManifest(await this.#consume(bytes), this.#name);
  }

  /** The next `count` rows, in batches; each is valid until the next one is requested. */
  async *rows(count: number): AsyncGenerator<readonly BackupRow[], void, undefined> {
    let left = count;
    let last: Buffer = Buffer.alloc(0);
    while (left > 0) {
      const batch = await this.#batch(left, last);
      left -= batch.length;
      last = Buffer.from(batch.at(-1)?.key ?? last);
      yield batch;
    }
  }

  async *bytes(count: number): AsyncGenerator<Buffer, void, undefined> {
    for (let left = count; left > 0;) {
      await this.#fill(1);
      const piece = await this.#consume(Math.min(left, Math.max(1, this.#window.length)));
      left -= piece.length;
      yield piece;
    }
  }

  /** Call last: checks the checksum, and that no data follows. Resolves to the checksum in lowercase hex. */
  async finish(): Promise<string> {
    const expected = this.#hash.digest();
    await this.#fill(backupDigestBytes + 1);
    if (this.#window.length < backupDigestBytes) throw cutBackup(this.#name);
    if (this.#window.length > backupDigestBytes) throw damagedBackup(this.#name, 'it has data after its end');
    if (!expected.equals(this.#window)) throw damagedBackup(this.#name, 'its checksum does not match');
    return expected.toString('hex');
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }

  /** Reads at least one row. `last`: key of the row before. */
  async #batch(most: number, last: Buffer): Promise<BackupRow[]> {
    const rows: BackupRow[] = [];
    for (let needed = backupRowHeadBytes; rows.length === 0;) {
      await this.#fill(needed);
      if (this.#window.length < needed) throw cutBackup(this.#name);
      needed = this.#parse(rows, most, last);
    }
    return rows;
  }

  /** Parses complete rows in the window. Returns the number of bytes that the next row needs there, if there was none. */
  #parse(rows: BackupRow[], most: number, last: Buffer): number {
    const window = this.#window;
    let [at, before, needed] = [0, last, backupRowHeadBytes];
    while (rows.length < most && at + backupRowHeadBytes <= window.length) {
      const [keyBytes, valueBytes] = [window.readUInt16BE(at), window.readUInt32BE(at + 2)];
      if (keyBytes === 0 || keyBytes > backupKeyBytesMax || valueBytes > backupValueBytesMax)
        throw damagedBackup(this.#name, `a row of ${keyBytes} and ${valueBytes} bytes`);
      needed = backupRowHeadBytes + keyBytes + valueBytes;
      if (at + needed > window.length) break;
      const valueAt = at + backupRowHeadBytes + keyBytes;
      const key = window.subarray(at + backupRowHeadBytes, valueAt);
      if (before.compare(key) >= 0) throw damagedBackup(this.#name, 'its rows are not in order');
      rows.push({ key, value: window.subarray(valueAt, valueAt + valueBytes) });
      at += needed;
      before = key;
    }
    this.#pass(at);
    return needed;
  }

  async #consume(count: number): Promise<Buffer> {
    await this.#fill(count);
    if (this.#window.length < count) throw cutBackup(this.#name);
    const taken = this.#window.subarray(0, count);
    this.#pass(count);
    return taken;
  }

  #pass(count: number): void {
    this.#hash.update(this.#window.subarray(0, count));
    this.#window = this.#window.subarray(count);
  }

  /** Reads until the window has at least `count` bytes, or the source has ended. */
  async #fill(count: number): Promise<void> {
    if (this.#window.length >= count) return;
    const pieces = [this.#window];
    for (let length = this.#window.length; length < count;) {
      const next = await this.#source.next();
      if (next.done === true) break;
      pieces.push(next.value);
      length += next.value.length;
    }
    this.#window = Buffer.concat(pieces);
  }
}
