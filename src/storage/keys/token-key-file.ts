/**
 * The keys of calls' tokens at rest: a JSON file for its owner alone, the newest key first, because that one signs. A
 * file and no table, so that nodes which let in each other's calls can have the same one. Source: calls-and-media.md,
 * Credential issuance.
 */
import { randomBytes } from 'node:crypto';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { tokenSecretBytes } from '../../protocol/call-token/token-keys.ts';
import { tokenKeysMax } from '../../model/limits.ts';
import { PrivateFile } from './private-file.ts';
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

/** Every call throws a StoreOpenError, a sentence that names the file and quotes none of it, when it cannot be done. */
export class TokenKeyFile {
  readonly #file: PrivateFile;

  constructor(path: string) {
    this.#file = new PrivateFile(path, 'the token keys');
  }

  /** Absolute. */
  get path(): string {
    return this.#file.path;
  }

  /** Null: there is no such file. */
  async find(): Promise<StoredTokenKeys | null> {
    const read = await this.#file.read();
    if (read === null) return null;
    const keys = parseTokenKeys(read.bytes);
    if (!keys.ok) throw this.#file.unusable(keys.error);
    return { keys: keys.value, openMode: read.openMode };
  }

  /** The same, made with one key where there is none. `nowS`: Unix seconds. */
  async ensure(nowS: number): Promise<StoredTokenKeys> {
    const found = await this.find();
    if (found !== null) return found;
    await this.#file.create(writeTokenKeys([freshKey(nowS)]));
    return this.ensure(nowS);
  }

  /** A new key that signs from now on, and the ones before it as far as there is room. Never call two changes at once. */
  async rotate(nowS: number): Promise<TokenKeyRotation> {
    const found = await this.find();
    const all = [freshKey(nowS), ...(found?.keys ?? [])];
    const keys = all.slice(0, tokenKeysMax);
    await this.#file.write(writeTokenKeys(keys));
    return { keys, dropped: all.slice(tokenKeysMax) };
  }

  /** Removes a key, and resolves to those that are left; a last one stays. Never call two changes at once. */
  async retire(kid: string): Promise<Result<readonly StoredTokenKey[], 'unknown' | 'last'>> {
    const keys = (await this.find())?.keys ?? [];
    const left = keys.filter((key) => key.kid !== kid);
    if (left.length === keys.length) return fail('unknown');
    if (left.length === 0) return fail('last');
    await this.#file.write(writeTokenKeys(left));
    return succeed(left);
  }
}

function freshKey(nowS: number): StoredTokenKey {
  const kid = randomBytes(kidBytes).toString('hex');
  return { kid, secret: randomBytes(tokenSecretBytes), createdAtS: nowS };
}
