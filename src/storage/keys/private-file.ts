/**
 * A small file with secrets or their hashes, accessible to its owner alone. Writes replace it atomically, so that no reader sees half
 * of it.
 */
import { randomUUID } from 'node:crypto';
import { link, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { messageOf } from '../../lib/result.ts';
import { hasByteOrderMark } from '../../lib/text-file.ts';
import { adviceBehind } from '../lmdb/store-fault.ts';
import { StoreOpenError } from '../lmdb/store-format.ts';

export interface PrivateText {
  /** Without a byte order mark. */
  readonly bytes: Buffer;
  /** The file's mode if other users can read it; null: they cannot. */
  readonly openMode: number | null;
}

const ownerOnly = 0o600;
const othersBits = 0o077;
const isPosix = process.platform !== 'win32';

/** Each failing call throws a StoreOpenError, a sentence that names the file and quotes none of it. */
export class PrivateFile {
  readonly path: string;
  /** Content of the file, in words: `the token keys`. */
  readonly #what: string;

  constructor(path: string, what: string) {
    this.path = resolve(path);
    this.#what = what;
  }

  /** Null: the file does not exist. */
  read(): Promise<PrivateText | null> {
    return this.#attempt('read', () => readIfThere(this.path));
  }

  /** Replaces the file; resolves when it is on disk. */
  write(text: string): Promise<void> {
    return this.#place(text, rename);
  }

  /** Creates the file, unless another process has created it meanwhile; resolves when it is on disk. */
  create(text: string): Promise<void> {
    return this.#place(text, makeOnce);
  }

  /** The error of a file with invalid content. */
  unusable(fault: string): StoreOpenError {
    return new StoreOpenError(`${this.#what} in ${this.path} cannot be used: ${fault}`);
  }

  #place(text: string, place: (from: string, to: string) => Promise<void>): Promise<void> {
    const own = `${this.path}.${randomUUID()}`;
    return this.#attempt('written', async () => {
      try {
        // Flushed: a new file must survive a power failure.
        await writeFile(own, text, { flag: 'wx', mode: ownerOnly, flush: true });
        await place(own, this.path);
      } finally {
        await rm(own, { force: true });
      }
      await syncDirectory(dirname(this.path));
    });
  }

  async #attempt<Result>(verb: string, act: () => Promise<Result>): Promise<Result> {
    try {
      return await act();
    } catch (error) {
      throw new StoreOpenError(
        `${this.#what} in ${this.path} cannot be ${verb}: ${messageOf(error)}${adviceBehind(error)}`,
      );
    }
  }
}

async function readIfThere(path: string): Promise<PrivateText | null> {
  const file = await open(path, 'r').catch(unlessMissing);
  if (file === null) return null;
  try {
    const mode = (await file.stat()).mode & 0o777;
    const isOpen = isPosix && (mode & othersBits) !== 0;
    const bytes = await file.readFile();
    const begin = hasByteOrderMark(bytes) ? 3 : 0;
    return { bytes: bytes.subarray(begin), openMode: isOpen ? mode : null };
  } finally {
    await file.close();
  }
}

/** Handles a rejection: null if there is no such file. */
export function unlessMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

/** Creating a hard link is atomic and never overwrites a file of another process. */
async function makeOnce(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Makes a new name survive a power failure. */
export async function syncDirectory(path: string): Promise<void> {
  if (!isPosix) return;
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
