/**
 * The keys of calls' tokens at rest: a JSON file for its owner alone, the newest key first, because that one signs. A
 * file and no table, so that nodes which let in each other's calls can have the same one. It is written whole and
 * replaced, so that nobody ever reads half of it. Source: calls-and-media.md, Credential issuance.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { link, open, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { fail, succeed, type Outcome } from '../base/outcome.ts';
import { tokenSecretBytes } from '../call-token/token-keys.ts';
import { tokenKeysMax } from '../domain/limits.ts';
import { StoreOpenError } from './store-open-error.ts';
import { parseTokenKeys, writeTokenKeys, type StoredTokenKey } from './token-key-json.ts';

export interface StoredTokenKeys {
  /** 1 to `tokenKeysMax`, the newest first. */
  readonly keys: readonly StoredTokenKey[];
  /** The mode of a file that others can read; null: it is closed to them. To be said. */
  readonly openMode: number | null;
}

export interface TokenKeyRotation {
  readonly keys: readonly StoredTokenKey[];
  /** Those that had to go: their tokens are good no more. */
  readonly dropped: readonly StoredTokenKey[];
}

const kidBytes = 4;
const ownerOnly = 0o600;
const othersBits = 0o077;
const isPosix = process.platform !== 'win32';

/** Every call throws a StoreOpenError, a sentence that names the file and quotes none of it, when it cannot be done. */
export class TokenKeyFile {
  /** Absolute. */
  readonly path: string;

  constructor(path: string) {
    this.path = resolve(path);
  }

  /** Null: there is no such file. */
  async find(): Promise<StoredTokenKeys | null> {
    const read = await this.#attempt('read', () => readIfThere(this.path));
    if (read === null) return null;
    const keys = parseTokenKeys(read.bytes);
    if (!keys.ok) throw new StoreOpenError(`the token keys in ${this.path} cannot be used: ${keys.error}`);
    const isOpen = isPosix && (read.mode & othersBits) !== 0;
    return { keys: keys.value, openMode: isOpen ? read.mode : null };
  }

  /** The same, made with one key where there is none. `nowS`: Unix seconds. */
  async ensure(nowS: number): Promise<StoredTokenKeys> {
    const found = await this.find();
    if (found !== null) return found;
    await this.#write([freshKey(nowS)], makeOnce);
    return this.ensure(nowS);
  }

  /** A new key that signs from now on, and the ones before it as far as there is room. Never call two changes at once. */
  async rotate(nowS: number): Promise<TokenKeyRotation> {
    const found = await this.find();
    const all = [freshKey(nowS), ...(found?.keys ?? [])];
    const keys = all.slice(0, tokenKeysMax);
    await this.#write(keys, rename);
    return { keys, dropped: all.slice(tokenKeysMax) };
  }

  /** Removes a key, and resolves to those that are left; a last one stays. Never call two changes at once. */
  async retire(kid: string): Promise<Outcome<readonly StoredTokenKey[], 'unknown' | 'last'>> {
    const keys = (await this.find())?.keys ?? [];
    const left = keys.filter((key) => key.kid !== kid);
    if (left.length === keys.length) return fail('unknown');
    if (left.length === 0) return fail('last');
    await this.#write(left, rename);
    return succeed(left);
  }

  async #write(
    keys: readonly StoredTokenKey[],
    place: (from: string, to: string) => Promise<void>,
  ): Promise<void> {
    const own = `${this.path}.${randomUUID()}`;
    await this.#attempt('written', async () => {
      try {
        await writeWhole(own, writeTokenKeys(keys));
        await place(own, this.path);
      } finally {
        await rm(own, { force: true });
      }
      if (isPosix) await syncDirectory(dirname(this.path));
    });
  }

  async #attempt<Result>(verb: string, act: () => Promise<Result>): Promise<Result> {
    try {
      return await act();
    } catch (error) {
      throw new StoreOpenError(
        `the token keys in ${this.path} cannot be ${verb}: ${(error as Error).message}`,
      );
    }
  }
}

function freshKey(nowS: number): StoredTokenKey {
  const kid = randomBytes(kidBytes).toString('hex');
  return { kid, secret: randomBytes(tokenSecretBytes), createdAtS: nowS };
}

async function readIfThere(path: string): Promise<{ readonly bytes: Buffer; readonly mode: number } | null> {
  try {
    const file = await open(path, 'r');
    try {
      const { mode } = await file.stat();
      return { bytes: await file.readFile(), mode: mode & 0o777 };
    } finally {
      await file.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** On disk when it resolves: a key that signs must not be gone after a power cut. */
async function writeWhole(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', ownerOnly);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A link appears whole or not at all, and never over keys that another process has made meanwhile. */
async function makeOnce(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
