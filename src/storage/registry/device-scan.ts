/** Reads many devices at once into columns for searches, from the bytes of their rows and without their secrets. */
import type { ScannedDevices, TextColumn } from '../../core/ports/device-registry.ts';
import { fixedBytes } from '../../lib/plain-msgpack.ts';
import { bytesOfText } from '../../lib/utf8.ts';
import { RawTable } from '../lmdb/raw-table.ts';
import { registryEntryBytesMax } from '../lmdb/store-limits.ts';
import type { Table } from '../lmdb/environment.ts';
import type { Row } from './registry-kinds.ts';

/** A scan ends after this many devices, or once a column has this many bytes. */
const devicesMax = 2048;
const columnBytesMax = 256 * 1024;

export class DeviceScan {
  readonly #table: RawTable<Row>;
  // Reused by all scans.
  readonly #ids = new ColumnWriter();
  readonly #lowerIds = new ColumnWriter();
  readonly #terms = new ColumnWriter();

  constructor(table: Table<Row>) {
    const [ids, lowerIds, terms] = [this.#ids, this.#lowerIds, this.#terms];
    this.#table = new RawTable(table, {
      key: (bytes, start, end) => {
        ids.copy(bytes, start, end);
        ids.endRow();
        lowerIds.copyLower(bytes, start, end);
        lowerIds.endRow();
      },
      row: (bytes) => {
        writeTerms(bytes, terms);
        terms.endRow();
      },
      isFull: () => ids.rows === devicesMax || lowerIds.isFull || terms.isFull,
    });
  }

  /** See `DeviceScanner`. */
  read(after: string | null, until: string | null): ScannedDevices {
    const [ids, lowerIds, terms] = [this.#ids, this.#lowerIds, this.#terms];
    for (const column of [ids, lowerIds, terms]) column.clear();
    const isComplete = this.#table.read({
      ...(after !== null && { start: bytesOfText(after), exclusiveStart: true }),
      ...(until !== null && { end: bytesOfText(until) }),
    });
    return { ids: ids.read(), lowerIds: lowerIds.read(), terms: terms.read(), isComplete };
  }
}

class ColumnWriter {
  readonly #bytes = Buffer.allocUnsafeSlow(columnBytesMax + 2 * registryEntryBytesMax);
  readonly #ends = new Uint32Array(devicesMax);
  #length = 0;
  rows = 0;

  clear(): void {
    this.#length = 0;
    this.rows = 0;
  }

  get isFull(): boolean {
    return this.#length >= columnBytesMax;
  }

  put(byte: number): void {
    this.#bytes[this.#length++] = byte;
  }

  copy(from: Uint8Array, start: number, end: number): void {
    const bytes = this.#bytes;
    let length = this.#length;
    for (let at = start; at < end; at += 1) bytes[length++] = from[at] ?? 0;
    this.#length = length;
  }

  copyLower(from: Buffer, start: number, end: number): void {
    const bytes = this.#bytes;
    let length = this.#length;
    for (let at = start; at < end; at += 1) {
      const byte = from[at] ?? 0;
      if (byte >= 0x80) {
        const lower = Buffer.from(from.toString('utf8', start, end).toLowerCase());
        return this.copy(lower, 0, lower.length);
      }
      bytes[length++] = byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
    }
    this.#length = length;
  }

  endRow(): void {
    this.#ends[this.rows++] = this.#length;
  }

  read(): TextColumn {
    const bytes = Buffer.allocUnsafeSlow(this.#length);
    this.#bytes.copy(bytes);
    return { bytes, ends: this.#ends.slice(0, this.rows) };
  }
}

/** A row is a msgpack list: product, secret, the time at which it expires, whether it is disabled, and labels if it has any. */
function writeTerms(row: Uint8Array, terms: ColumnWriter): void {
  terms.put(0);
  let at = copyText(row, 1, terms);
  terms.put(lineFeed);
  const rowLength = (row[0] ?? 0) & 0x0f;
  if (rowLength < 5) return;
  at = endOfText(row, at);
  at += 1 + (fixedBytes.get(row[at] ?? 0) ?? 0);
  // A boolean.
  at += 1;
  const type = row[at] ?? 0;
  const isLong = type === 0xde;
  const labels = isLong ? twoBytes(row, at + 1) : type >= 0x80 && type <= 0x8f ? type & 0x0f : 0;
  at += isLong ? 3 : 1;
  for (let label = 0; label < labels; label += 1) {
    at = copyText(row, at, terms);
    terms.put(equals);
    at = copyText(row, at, terms);
    terms.put(lineFeed);
  }
}

const lineFeed = 0x0a;
const equals = 0x3d;

/** Returns the end of the text at `at`. */
function copyText(row: Uint8Array, at: number, to: ColumnWriter): number {
  const end = endOfText(row, at);
  to.copy(row, startOfText(row, at), end);
  return end;
}

function startOfText(row: Uint8Array, at: number): number {
  const type = row[at] ?? 0;
  if (type >= 0xa0 && type <= 0xbf) return at + 1;
  if (type === 0xd9) return at + 2;
  if (type === 0xda) return at + 3;
  throw new Error('the row of a device is damaged');
}

function endOfText(row: Uint8Array, at: number): number {
  const start = startOfText(row, at);
  if (start === at + 1) return start + ((row[at] ?? 0) & 0x1f);
  return start + (start === at + 2 ? (row[at + 1] ?? 0) : twoBytes(row, at + 1));
}

function twoBytes(row: Uint8Array, at: number): number {
  return ((row[at] ?? 0) << 8) | (row[at + 1] ?? 0);
}
