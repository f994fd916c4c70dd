/**
 * What the file of operators' tokens holds: `{"tokens": [{"name": "…", "role": "viewer", "sha256": "…", "created_at": …,
 * "last_used_at": …}]}`. Of a token only its hash is there, which is enough since a token is 32 random bytes.
 */
import { decodeJsonObject } from '../../lib/json-object.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { opsTokensMax } from '../../model/limits.ts';
import {
  isOperatorName,
  operatorNameForm,
  opsRoles,
  type Operator,
  type OpsRole,
} from '../../model/operator.ts';
import { EntryReader, type JsonObject } from '../registry/entry-reader.ts';

export interface StoredOpsToken extends Operator {
  /** Of the token's text; lowercase hex. */
  readonly sha256: string;
  /** Unix seconds; null: whoever made it did not say. */
  readonly createdAtS: number | null;
  /** Unix seconds, about a minute behind; null: never. */
  readonly lastUsedAtS: number | null;
}

const sha256Form = /^[0-9a-f]{64}$/;
const fileFields: ReadonlySet<string> = new Set(['tokens']);
const tokenFields: ReadonlySet<string> = new Set(['name', 'role', 'sha256', 'created_at', 'last_used_at']);

/** At most `opsTokensMax` tokens of different names, or what is wrong. */
export function parseOpsTokens(bytes: Uint8Array): Result<readonly StoredOpsToken[], string> {
  const json = decodeJsonObject(bytes);
  if (!json.ok) return fail(json.error);
  const { error } = new EntryReader(json.value, "file of operators' tokens", fileFields);
  if (error !== null) return fail(`${error.field} ${error.reason}`);
  const entries: unknown = json.value['tokens'];
  if (!Array.isArray(entries) || entries.length > opsTokensMax)
    return fail(`tokens must be a list of at most ${opsTokensMax} tokens`);
  const tokens: StoredOpsToken[] = [];
  for (const [i, entry] of (entries as unknown[]).entries()) {
    const token = parseToken(entry);
    if (!token.ok) return fail(`tokens[${i}]${token.error}`);
    if (tokens.some(({ name }) => name === token.value.name))
      return fail(`tokens[${i}].name is that of another token`);
    tokens.push(token.value);
  }
  return succeed(tokens);
}

export function writeOpsTokens(tokens: readonly StoredOpsToken[]): string {
  const entries = tokens.map(({ name, role, sha256, createdAtS, lastUsedAtS }) => {
    return { name, role, sha256, created_at: createdAtS, last_used_at: lastUsedAtS };
  });
  return `${JSON.stringify({ tokens: entries }, null, 2)}\n`;
}

function parseToken(entry: unknown): Result<StoredOpsToken, string> {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return fail(' must be an object');
  const fields = new EntryReader(entry as JsonObject, "operator's token", tokenFields);
  const name = fields.id('name', (text) => (isOperatorName(text) ? text : null), operatorNameForm);
  const role = fields.id('role', parseRole, opsRoles.join(' or '));
  const sha256 = fields.id('sha256', (text) => (sha256Form.test(text) ? text : null), '64 digits of hex');
  const createdAtS = fields.seconds('created_at');
  const lastUsedAtS = fields.seconds('last_used_at');
  if (fields.error !== null) return fail(`.${fields.error.field} ${fields.error.reason}`);
  return succeed({ name, role, sha256, createdAtS, lastUsedAtS });
}

function parseRole(text: string): OpsRole | null {
  return opsRoles.find((role) => role === text) ?? null;
}
