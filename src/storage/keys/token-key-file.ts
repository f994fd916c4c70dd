/**
 * Keys of call tokens: their file, `{"keys": [{"kid": "…", "secret": "…", "created_at": …}]}`, newest first with secrets in
 * base64url, and the live keys of a running server. Changes by operators and SIGHUP run one after the other, so that the last change
 * is the live one. Source: calls-and-media.md, Tokens.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import { fail, messageOf, succeed, type Result } from '../../lib/result.ts';
import { tokenSecretBytes, type TokenKey, TokenKeys } from '../../protocol/call-token/token-keys.ts';
import { tokenKeysMax } from '../../model/limits.ts';
import { PrivateFile } from './private-file.ts';
import { decodeJsonObject, isJsonObject } from '../../lib/utf8.ts';
import { EntryReader } from '../registry/entry-reader.ts';
import { wallSeconds } from '../../lib/clock.ts';
import { SerialQueue } from '../../lib/collections/queues.ts';
import { StoreOpenError } from '../lmdb/store-format.ts';

export interface StoredTokenKey extends TokenKey {
  /** Unix seconds; null: unknown. */
  readonly createdAtS: number | null;
}

const kidForm = /^[\w.-]{1,32}$/;
const fileFields: ReadonlySet<string> = new Set(['keys']);
const keyFields: ReadonlySet<string> = new Set(['kid', 'secret', 'created_at']);

/** 1 to `tokenKeysMax` keys with distinct kids; the error describes the fault. */
function parseTokenKeys(bytes: Uint8Array): Result<readonly StoredTokenKey[], string> {
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

function writeTokenKeys(keys: readonly StoredTokenKey[]): string {
  const entries = keys.map(({ kid, secret, createdAtS }) => ({
    kid,
    secret: Buffer.from(secret).toString('base64url'),
    created_at: createdAtS,
  }));
  return `${JSON.stringify({ keys: entries }, null, 2)}\n`;
}

function parseKey(entry: unknown): Result<StoredTokenKey, string> {
  if (!isJsonObject(entry)) return fail(' must be an object');
  const fields = new EntryReader(entry, 'token key', keyFields);
  const kid = fields.id('kid', parseKid, '1-32 characters of A-Z a-z 0-9 _ . -');
  const secret = fields.id('secret', parseSecret, `the base64url of ${tokenSecretBytes} bytes`);
  const createdAtS = fields.seconds('created_at');
  if (fields.error !== null) return fail(`.${fields.error.field} ${fields.error.reason}`);
  return succeed({ kid, secret: Buffer.from(secret, 'base64url'), createdAtS });
}

function parseKid(text: string): string | null {
  return kidForm.test(text) ? text : null;
}

/** Null unless the text is the canonical base64url of a secret. */
function parseSecret(text: string): string | null {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.length === tokenSecretBytes && bytes.toString('base64url') === text ? text : null;
}

export interface StoredTokenKeys {
  readonly keys: readonly StoredTokenKey[];
  /** The file's mode if other users can read it, for a warning; null: they cannot. */
  readonly openMode: number | null;
}

export interface TokenKeyRotation {
  readonly keys: readonly StoredTokenKey[];
  /** Removed keys: their tokens are no longer valid. */
  readonly dropped: readonly StoredTokenKey[];
}

const kidBytes = 4;

/** Each failing call throws a StoreOpenError, a sentence that names the file and quotes none of it. */
class TokenKeyFile {
  readonly #file: PrivateFile;

  constructor(path: string) {
    this.#file = new PrivateFile(path, 'the token keys');
  }

  get path(): string {
    return this.#file.path;
  }

  /** Null: the file does not exist. */
  async find(): Promise<StoredTokenKeys | null> {
    const read = await this.#file.read();
    if (read === null) return null;
    const keys = parseTokenKeys(read.bytes);
    if (!keys.ok) throw this.#file.unusable(keys.error);
    return { keys: keys.value, openMode: read.openMode };
  }

  /** Like `find`, but creates a missing file with one key. `nowS`: Unix seconds. */
  async ensure(nowS: number): Promise<StoredTokenKeys> {
    const found = await this.find();
    if (found !== null) return found;
    await this.#file.create(writeTokenKeys([freshKey(nowS)]));
    return this.ensure(nowS);
  }

  /** Adds a new signing key, and removes the oldest ones beyond `tokenKeysMax`. Never run two changes at once. */
  async rotate(nowS: number): Promise<TokenKeyRotation> {
    const found = await this.find();
    const all = [freshKey(nowS), ...(found?.keys ?? [])];
    const keys = all.slice(0, tokenKeysMax);
    await this.#file.write(writeTokenKeys(keys));
    return { keys, dropped: all.slice(tokenKeysMax) };
  }

  /** Removes a key, but never the last one, and resolves to the remaining keys. Never run two changes at once. */
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

export interface LiveTokenKeysDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly file: TokenKeyFile;
}

export interface TokenKeySettings {
  readonly calls: { readonly token_keys_file: string | null };
  readonly data: { readonly dir: string };
}

export function tokenKeyFileOf({ calls, data }: TokenKeySettings): TokenKeyFile {
  return new TokenKeyFile(calls.token_keys_file ?? join(data.dir, 'token-keys.json'));
}

export class LiveTokenKeys {
  /** Always the live keys, for signing and verification. */
  readonly keys: TokenKeys;
  readonly #deps: LiveTokenKeysDeps;
  #stored: readonly StoredTokenKey[];
  readonly #turns = new SerialQueue();
  #changed: () => void = () => undefined;

  private constructor(deps: LiveTokenKeysDeps, keys: TokenKeys, stored: readonly StoredTokenKey[]) {
    this.#deps = deps;
    this.keys = keys;
    this.#stored = stored;
  }

  /** Creates the file if needed. Rejects with a StoreOpenError when it cannot be used. */
  static async open(deps: LiveTokenKeysDeps): Promise<LiveTokenKeys> {
    const stored = await deps.file.ensure(wallSeconds(deps.clock));
    warnIfOpen(deps, stored);
    return new LiveTokenKeys(deps, new TokenKeys(stored.keys), stored.keys);
  }

  /** The live keys, the signing key first. */
  get stored(): readonly StoredTokenKey[] {
    return this.#stored;
  }

  /** `changed` is called after every change. One listener. */
  onChange(changed: () => void): void {
    this.#changed = changed;
  }

  /**
   * Reloads the keys on SIGHUP. Never rejects: an error is logged, and the live keys stay in use. Resolves to the error; null: none.
   */
  async reload(): Promise<string | null> {
    try {
      await this.#turns.run(() => this.#readAgain());
      return null;
    } catch (error) {
      this.#deps.log.error({ err: error }, 'call token keys: reload failed; the live keys stay in use');
      return `keys of call tokens: ${messageOf(error)}`;
    }
  }

  /** Rejects with a StoreOpenError, and changes nothing, when the file cannot be read or written. */
  rotate(): Promise<TokenKeyRotation> {
    return this.#turns.run(async () => {
      const rotation = await this.#deps.file.rotate(wallSeconds(this.#deps.clock));
      this.#adopt(rotation.keys, 'call token keys rotated');
      return rotation;
    });
  }

  /** Resolves to the remaining keys. Rejects like `rotate`. */
  retire(kid: string): Promise<Result<readonly StoredTokenKey[], 'unknown' | 'last'>> {
    return this.#turns.run(async () => {
      const left = await this.#deps.file.retire(kid);
      if (left.ok) this.#adopt(left.value, 'call token key retired');
      return left;
    });
  }

  async #readAgain(): Promise<void> {
    const found = await this.#deps.file.find();
    if (found === null) throw new StoreOpenError(`there is no file ${this.#deps.file.path} any more`);
    warnIfOpen(this.#deps, found);
    this.#adopt(found.keys, 'call token keys reloaded');
  }

  #adopt(keys: readonly StoredTokenKey[], message: string): void {
    this.keys.replace(keys);
    this.#stored = keys;
    this.#changed();
    this.#deps.log.info({ kids: keys.map(({ kid }) => kid) }, message);
  }
}

function warnIfOpen({ file, log }: LiveTokenKeysDeps, { openMode }: StoredTokenKeys): void {
  if (openMode === null) return;
  const fields = { file: file.path, mode: openMode.toString(8) };
  log.warn(
    fields,
    'call token keys: other users can read the file: set its mode to 0600, then rotate the keys',
  );
}
