/**
 * What the file of token keys holds: `{"keys": [{"kid": "…", "secret": "…", "created_at": …}]}`, the newest first, a
 * secret as the base64url of its bytes. `created_at` may be absent; everything else must be there, and nothing else may
 * be. What is wrong is said without quoting a value.
 */
import { decodeJsonObject } from '../../lib/json-object.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { tokenSecretBytes, type TokenKey } from '../../protocol/call-token/token-keys.ts';
import { tokenKeysMax } from '../../model/limits.ts';
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
