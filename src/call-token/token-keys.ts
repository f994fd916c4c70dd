/**
 * The keys of calls' tokens that are live in this process. The first signs, all verify: so a new key can take over
 * while tokens of the former one are still on their way. Each is imported once, since that costs more than a signature.
 * Where they are kept is the store's. Source: calls-and-media.md, Credential issuance.
 */
import { webcrypto } from 'node:crypto';
import { assert } from '../base/assert.ts';
import { tokenKeysMax } from '../domain/limits.ts';

export interface TokenKey {
  /** Names it in the head of a token: 1-32 characters of `A-Z a-z 0-9 _ . -`. */
  readonly kid: string;
  /** 32 bytes. */
  readonly secret: Uint8Array;
}

/** As WebCrypto has it: it signs and verifies HS256, and its secret cannot be read out of it. */
export interface LiveTokenKey {
  readonly kid: string;
  readonly key: webcrypto.CryptoKey;
}

export const tokenSecretBytes = 32;

export class TokenKeys {
  #live: readonly LiveTokenKey[];

  private constructor(live: readonly LiveTokenKey[]) {
    this.#live = live;
  }

  /** 1 to `tokenKeysMax` keys of different kids, the one that signs first. */
  static async of(keys: readonly TokenKey[]): Promise<TokenKeys> {
    return new TokenKeys(await importKeys(keys));
  }

  /** All of them at once, when they are imported: a token is judged by the former keys or by these. Call one at a time. */
  async replace(keys: readonly TokenKey[]): Promise<void> {
    this.#live = await importKeys(keys);
  }

  /** The one that signs. */
  get first(): LiveTokenKey {
    const [first] = this.#live;
    assert(first !== undefined, 'there is a key that signs');
    return first;
  }

  /** Null: no such key is live, or not any more. */
  find(kid: string): LiveTokenKey | null {
    return this.#live.find((live) => live.kid === kid) ?? null;
  }
}

function importKeys(keys: readonly TokenKey[]): Promise<LiveTokenKey[]> {
  assert(keys.length >= 1 && keys.length <= tokenKeysMax, `1 to ${tokenKeysMax} keys are live`);
  assert(new Set(keys.map(({ kid }) => kid)).size === keys.length, 'kids tell keys apart');
  return Promise.all(keys.map(importKey));
}

async function importKey({ kid, secret }: TokenKey): Promise<LiveTokenKey> {
  assert(secret.byteLength === tokenSecretBytes, `the secret of a token key is ${tokenSecretBytes} bytes`);
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  return { kid, key: await webcrypto.subtle.importKey('raw', secret, algorithm, false, ['sign', 'verify']) };
}
