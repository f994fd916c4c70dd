/** The named tokens of operators at rest, by their hashes: `ops-tokens.json` in the data directory, for its owner alone. */
import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { opsTokensMax } from '../../model/limits.ts';
import { isOperatorName, type Operator } from '../../model/operator.ts';
import { parseOpsTokens, writeOpsTokens, type StoredOpsToken } from './ops-token-json.ts';
import { PrivateFile } from './private-file.ts';

export interface FreshOpsToken {
  /** To be shown once: only its hash is kept. */
  readonly token: string;
  readonly tokens: readonly StoredOpsToken[];
}

export type OpsTokenRefusal = 'name' | 'taken' | 'full';

const fileName = 'ops-tokens.json';
const tokenBytes = 32;

/** Never call two changes at once. Every call throws a StoreOpenError when the file cannot be read or written. */
export class OpsTokenFile {
  readonly #file: PrivateFile;

  constructor(dataDirectory: string) {
    this.#file = new PrivateFile(join(dataDirectory, fileName), "the operators' tokens");
  }

  /** In the order they were made; none where there is no file. */
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
    if (before.some((token) => token.name === name)) return fail('taken');
    if (before.length >= opsTokensMax) return fail('full');
    const token = randomBytes(tokenBytes).toString('base64url');
    const stored = { name, role, sha256: hashOpsToken(token).toString('hex'), createdAtS: nowS };
    const tokens = [...before, { ...stored, lastUsedAtS: null }];
    await this.#file.write(writeOpsTokens(tokens));
    return succeed({ token, tokens });
  }

  /** Those that are left; null: there is none of this name. */
  async revoke(name: string): Promise<readonly StoredOpsToken[] | null> {
    const before = await this.read();
    const left = before.filter((token) => token.name !== name);
    if (left.length === before.length) return null;
    await this.#file.write(writeOpsTokens(left));
    return left;
  }

  /** `lastUsed`: Unix seconds by hash. */
  async noteUses(lastUsed: ReadonlyMap<string, number>): Promise<readonly StoredOpsToken[]> {
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
