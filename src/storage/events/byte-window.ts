/**
 * A file read through a window of fixed size, synchronously: memory stays the same however long the file is.
 * What was read is hashed on the way, so that what is remembered is what was imported.
 */
import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { registryWindowBytes } from '../lmdb/store-limits.ts';

export class ByteWindow {
  readonly #file: number;
  readonly #hash = createHash('sha256');
  readonly #bytes: Buffer;
  readonly #size: number;
  #start = 0;
  #end = 0;
  #passed = 0;

  /** Throws when the file cannot be opened. `windowBytes` bounds what `more` can hold at once. */
  constructor(path: string, windowBytes = registryWindowBytes) {
    this.#file = openSync(path, 'r');
    this.#size = fstatSync(this.#file).size;
    this.#bytes = Buffer.allocUnsafe(windowBytes);
  }

  /** What is read and not passed; valid until the next `more`. */
  get bytes(): Buffer {
    return this.#bytes.subarray(this.#start, this.#end);
  }

  /** Bytes of the file that lie before `bytes`. */
  get passed(): number {
    return this.#passed;
  }

  /** How much of the file lies before `bytes`: 0 to 1; of what has no size 0. */
  get share(): number {
    return this.#size === 0 ? 0 : Math.min(1, this.#passed / this.#size);
  }

  pass(count: number): void {
    this.#start += count;
    this.#passed += count;
  }

  /** Reads on behind `bytes`, whose offsets stay. False at the end of the file, or when the window is full. */
  more(): boolean {
    if (this.#start > 0) {
      this.#bytes.copyWithin(0, this.#start, this.#end);
      this.#end -= this.#start;
      this.#start = 0;
    }
    const read = readSync(this.#file, this.#bytes, this.#end, this.#bytes.length - this.#end, null);
    this.#hash.update(this.#bytes.subarray(this.#end, this.#end + read));
    this.#end += read;
    return read > 0;
  }

  /** The hash of everything read; call once, at the end. */
  sha256(): string {
    return this.#hash.digest('hex');
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** Lowercase hex. Throws when the file cannot be read. */
export function fileSha256(path: string): string {
  const window = new ByteWindow(path);
  try {
    while (window.more()) window.pass(window.bytes.length);
    return window.sha256();
  } finally {
    window.close();
  }
}
