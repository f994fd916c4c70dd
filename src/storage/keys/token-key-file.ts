/**
 * The file of the keys of call tokens: `{"keys": [{"kid": "…", "secret": "…", "created_at": …}]}`, the newest first, a
 * secret as the base64url of its bytes. Source: calls-and-media.md, Tokens.
 */
import { randomBytes } from 'node:crypto';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { tokenSecretBytes, type TokenKey } from '../../protocol/call-token/token-keys.ts';
import { tokenKeysMax } from '../../model/limits.ts';
import { PrivateFile } from './private-file.ts';
import { decodeJsonObject } from '../../lib/json-object.ts';
import { EntryReader, type JsonObject } from '../registry/entry-reader.ts';

export interface StoredTokenKey extends TokenKey {
  /** Unix seconds; null: whoever made it did not say. */
  readonly createdAtS: number | null;
}

const kidForm = /^[\w.-]{1,32}$/;
const fileFields: ReadonlySet<string> = new Set(['keys']);
const keyFields: ReadonlySet<string> = new Set(['kid', 'secret', 'created_at']);

/** 1 to `tokenKeysMax` keys of different kids, or what is wrong. */
export function parseTokenKeys(bytes: Uint8Array): Result<readonly StoredTokenKey[], string> {
  const json = decodeJsonObject(bytes);
  if (!json.ok) return fail(json.error);
  const { error } = new EntryReader(json.value, 'file of token keys', fileFields);
  if (error !== null) return fail(`${error.field} ${error.reason}`);
  const entries: unknown = json.value['keys'];
  if (!Array.isArray(entries) || entries.length < 1 || entries.length > tokenKeysMax)
    return fail(`keys must be a list of 1 to ${tokenKeysMax} keys`);
  const keys: StoredTokenKey[] = [];
  for (const [i, entry] of (entries as unknown[]).entries()) {
    const key = parseKey(entry);
    if (!key.ok) return fail(`keys[${i}]${key.error}`);
    if (keys.some(({ kid }) => kid === key.value.kid)) return fail(`keys[${i}].kid is that of another key`);
    keys.push(key.value);
  }
  return succeed(keys);
}

export function writeTokenKeys(keys: readonly StoredTokenKey[]): string {
  const entries = keys.map(({ kid, secret, createdAtS }) => ({
    kid,
    secret: Buffer.from(secret).toString('base64url'),
    created_at: createdAtS,
  }));
  return `${JSON.stringify({ keys: entries }, null, 2)}\n`;
}

function parseKey(entry: unknown): Result<StoredTokenKey, string> {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return fail(' must be an object');
  const fields = new EntryReader(entry as JsonObject, 'token key', keyFields);
  const kid = fields.id('kid', parseKid, '1-32 characters of A-Z a-z 0-9 _ . -');
  const secret = fields.id('secret', parseSecret, `the base64url of ${tokenSecretBytes} bytes`);
  const createdAtS = fields.seconds('created_at');
  if (fields.error !== null) return fail(`.${fields.error.field} ${fields.error.reason}`);
  return succeed({ kid, secret: Buffer.from(secret, 'base64url'), createdAtS });
}

function parseKid(text: string): string | null {
  return kidForm.test(text) ? text : null;
}

/** The same text, if it has one meaning only. */
function parseSecret(text: string): string | null {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.length === tokenSecretBytes && bytes.toString('base64url') === text ? text : null;
}

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
