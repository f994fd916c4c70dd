/**
 * The file of operators' tokens: `{"tokens": [{"name": "…", "role": "viewer", "sha256": "…", "created_at": …, "last_used_at": …}]}`.
 * It contains only the hashes of tokens. Source: running.md, Processes and listeners.
 */
import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { opsTokensMax } from '../../model/limits.ts';
import {
  isOperatorName,
  type Operator,
  operatorNameForm,
  opsRoles,
  type OpsRole,
} from '../../model/audit.ts';
import { PrivateFile } from './private-file.ts';
import { decodeJsonObject, isJsonObject } from '../../lib/utf8.ts';
import { EntryReader } from '../registry/entry-reader.ts';

export interface StoredOpsToken extends Operator {
  /** Hash of the token's text; lowercase hex. */
  readonly sha256: string;
  /** Unix seconds; null: unknown. */
  readonly createdAtS: number | null;
  /** Unix seconds, up to about a minute late; null: never. */
  readonly lastUsedAtS: number | null;
}

const sha256Form = /^[0-9a-f]{64}$/;
const fileFields: ReadonlySet<string> = new Set(['tokens']);
const tokenFields: ReadonlySet<string> = new Set(['name', 'role', 'sha256', 'created_at', 'last_used_at']);

/** At most `opsTokensMax` tokens with distinct names; the error describes the fault. */
function parseOpsTokens(bytes: Uint8Array): Result<readonly StoredOpsToken[], string> {
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

function writeOpsTokens(tokens: readonly StoredOpsToken[]): string {
  const entries = tokens.map(({ name, role, sha256, createdAtS, lastUsedAtS }) => {
    return { name, role, sha256, created_at: createdAtS, last_used_at: lastUsedAtS };
  });
  return `${JSON.stringify({ tokens: entries }, null, 2)}\n`;
}

function parseToken(entry: unknown): Result<StoredOpsToken, string> {
  if (!isJsonObject(entry)) return fail(' must be an object');
  const fields = new EntryReader(entry, "operator's token", tokenFields);
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

export interface FreshOpsToken {
  /** Shown once: only its hash is stored. */
  readonly token: string;
  readonly tokens: readonly StoredOpsToken[];
}

export type OpsTokenRefusal = 'name' | 'exists' | 'full';

const fileName = 'ops-tokens.json';
const tokenBytes = 32;

/** Never call two changes at once. Every call throws a StoreOpenError when the file cannot be read or written. */
export class OpsTokenFile {
  readonly #file: PrivateFile;

  constructor(dataDirectory: string) {
    this.#file = new PrivateFile(join(dataDirectory, fileName), "the operators' tokens");
  }

  /** Tokens in order of creation; empty without a file. */
  async read(): Promise<readonly StoredOpsToken[]> {
    const read = await this.#file.read();
    if (read === null) return [];
    const tokens = parseOpsTokens(read.bytes);
    if (!tokens.ok) throw this.#file.unusable(tokens.error);
    return tokens.value;
  }

  async create({ name, role }: Operator, nowS: number): Promise<Result<FreshOpsToken, OpsTokenRefusal>> {
    if (!isOperatorName(name)) return fail('name');
    const before = await this.read();
    if (before.some((token) => token.name === name)) return fail('exists');
    if (before.length >= opsTokensMax) return fail('full');
    const token = randomBytes(tokenBytes).toString('base64url');
    const stored = { name, role, sha256: hashOpsToken(token).toString('hex'), createdAtS: nowS };
    const tokens = [...before, { ...stored, lastUsedAtS: null }];
    await this.#file.write(writeOpsTokens(tokens));
    return succeed({ token, tokens });
  }

  /** Resolves to the remaining tokens; null: no token has this name. */
  async revoke(name: string): Promise<readonly StoredOpsToken[] | null> {
    const before = await this.read();
    const left = before.filter((token) => token.name !== name);
    if (left.length === before.length) return null;
    await this.#file.write(writeOpsTokens(left));
    return left;
  }

  /** `lastUsed`: Unix seconds by hash. */
  async recordUses(lastUsed: ReadonlyMap<string, number>): Promise<readonly StoredOpsToken[]> {
    const tokens = (await this.read()).map((token) => {
      return { ...token, lastUsedAtS: lastUsed.get(token.sha256) ?? token.lastUsedAtS };
    });
    await this.#file.write(writeOpsTokens(tokens));
    return tokens;
  }
}

export function hashOpsToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
