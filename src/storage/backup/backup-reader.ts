/**
 * Reads a backup from its first byte to its checksum, in order and once, with little of it in memory. Nothing that was read is
 * to be believed before `finish` has found the checksum right; each call throws a StoreOpenError that names the file.
 */
import { createHash } from 'node:crypto';
import {
  backupDigestBytes,
  backupHeadBytes,
  backupKeyBytesMax,
  backupMagic,
  backupRowHeadBytes,
  backupValueBytesMax,
  cutBackup,
  damagedBackup,
  decodeBackupHead,
  decodeManifest,
  type BackupManifest,
} from './backup-format.ts';
import { StoreOpenError } from '../lmdb/store-format.ts';

export interface BackupRow {
  readonly key: Buffer;
  readonly value: Buffer;
}

export class BackupReader {
  readonly #name: string;
  readonly #source: AsyncIterator<Buffer>;
  readonly #hash = createHash('sha256');
  /** What was read of the source and not taken yet. */
  #window: Buffer = Buffer.alloc(0);

  /** `name`: as people call the file. */
  constructor(source: AsyncIterable<Buffer>, name: string) {
    this.#name = name;
    this.#source = source[Symbol.asyncIterator]();
  }

  /** The first call. */
  async manifest(): Promise<BackupManifest> {
    await this.#fill(backupHeadBytes);
    const begins = this.#window.subarray(0, backupMagic.length);
    if (!begins.equals(backupMagic.subarray(0, begins.length)))
      throw new StoreOpenError(
        `${this.#name} is no backup of Reveille: name a file that reveille backup wrote`,
      );
    const bytes = decodeBackupHead(await this.#take(backupHeadBytes), this.#name);
    return decodeManifest(await this.#take(bytes), this.#name);
  }

  /** So many rows, in batches of which each is good until the next is asked for. */
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

  /** The next `count` bytes, in pieces. */
  async *bytes(count: number): AsyncGenerator<Buffer, void, undefined> {
    for (let left = count; left > 0;) {
      await this.#fill(1);
      const piece = await this.#take(Math.min(left, Math.max(1, this.#window.length)));
      left -= piece.length;
      yield piece;
    }
  }

  /** The last call: the checksum is right, and nothing stands behind it. Resolves to it, in lowercase hex. */
  async finish(): Promise<string> {
    const expected = this.#hash.digest();
    await this.#fill(backupDigestBytes + 1);
    if (this.#window.length < backupDigestBytes) throw cutBackup(this.#name);
    if (this.#window.length > backupDigestBytes) throw damagedBackup(this.#name, 'it goes on behind its end');
    if (!expected.equals(this.#window)) throw damagedBackup(this.#name, 'its checksum is another');
    return expected.toString('hex');
  }

  /** Gives the source back. */
  async close(): Promise<void> {
    await this.#source.return?.();
  }

  /** At least one row. `last`: the key before them. */
  async #batch(most: number, last: Buffer): Promise<BackupRow[]> {
    const rows: BackupRow[] = [];
    for (let needed = backupRowHeadBytes; rows.length === 0;) {
      await this.#fill(needed);
      if (this.#window.length < needed) throw cutBackup(this.#name);
      needed = this.#parse(rows, most, last);
    }
    return rows;
  }

  /** Takes rows that are whole in the window. Returns the bytes that the next one needs there, when there was none. */
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

  async #take(count: number): Promise<Buffer> {
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

  /** The window has at least so many bytes, unless the source has ended. */
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
