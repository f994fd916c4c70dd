/**
 * Reads a file synchronously through a window of fixed size: memory does not grow with the file. The hash covers the bytes that
 * were read, so it is that of the imported content.
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

  /** Throws when the file cannot be opened. `windowBytes`: size of the window. */
  constructor(path: string, windowBytes = registryWindowBytes) {
    this.#file = openSync(path, 'r');
    this.#size = fstatSync(this.#file).size;
    this.#bytes = Buffer.allocUnsafe(windowBytes);
  }

  /** Bytes read and not passed yet; valid until the next `more`. */
  get bytes(): Buffer {
    return this.#bytes.subarray(this.#start, this.#end);
  }

  /** File offset of `bytes`. */
  get passed(): number {
    return this.#passed;
  }

  /** Share of the file before `bytes`: 0 to 1; 0 for a file without a size. */
  get share(): number {
    return this.#size === 0 ? 0 : Math.min(1, this.#passed / this.#size);
  }

  pass(count: number): void {
    this.#start += count;
    this.#passed += count;
  }

  /** Reads more bytes after `bytes`; offsets in it stay valid. False at the end of the file, or when the window is full. */
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

  /** Hash of all bytes read, lowercase hex; call once, at the end. */
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
