/**
 * Reads a backup sequentially and once, with little of it in memory. The content is not verified before `finish` has checked the
 * checksum. Each call throws a StoreOpenError that names the file.
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
