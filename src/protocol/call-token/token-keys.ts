/**
 * Live signing keys of call tokens. The first signs, all verify, so that a new key takes over while tokens of the former one are
 * still in use. Each is imported once, because an import costs more than a signature. The store persists them. Source:
 * calls-and-media.md, Credential issuance.
 */
import { createSecretKey, type KeyObject } from 'node:crypto';
import { assert } from '../../lib/assert.ts';
import { tokenKeysMax } from '../../model/limits.ts';

export interface TokenKey {
  /** Key id in a token's head: 1-32 characters of `A-Z a-z 0-9 _ . -`. */
  readonly kid: string;
  /** 32 bytes. */
  readonly secret: Uint8Array;
}

/** A key in the form of Node's HMAC. */
export interface LiveTokenKey {
  readonly kid: string;
  readonly key: KeyObject;
  readonly secret: Uint8Array;
  /** Encoded head of all tokens that the key signs. */
  readonly head: string;
}

/** `alg` in a token's head. */
export const tokenAlgorithm = 'HS256';
export const tokenType = 'JWT';

export const tokenSecretBytes = 32;

export class TokenKeys {
  #live: readonly LiveTokenKey[];

  /** 1 to `tokenKeysMax` keys with different kids; the first signs. */
  constructor(keys: readonly TokenKey[]) {
    this.#live = importKeys(keys);
  }

  replace(keys: readonly TokenKey[]): void {
    this.#live = importKeys(keys);
  }

  get first(): LiveTokenKey {
    const [first] = this.#live;
    assert(first !== undefined, 'there is a key that signs');
    return first;
  }

  /** Secrets, for another process that verifies. */
  export(): TokenKey[] {
    return this.#live.map(({ kid, secret }) => ({ kid, secret }));
  }

  find(kid: string): LiveTokenKey | null {
    return this.#live.find((live) => live.kid === kid) ?? null;
  }
}

function importKeys(keys: readonly TokenKey[]): LiveTokenKey[] {
  assert(keys.length >= 1 && keys.length <= tokenKeysMax, `1 to ${tokenKeysMax} keys are live`);
  assert(new Set(keys.map(({ kid }) => kid)).size === keys.length, 'kids tell keys apart');
  return keys.map(importKey);
}

function importKey({ kid, secret }: TokenKey): LiveTokenKey {
  assert(secret.byteLength === tokenSecretBytes, `the secret of a token key is ${tokenSecretBytes} bytes`);
  return {
    kid,
    key: createSecretKey(secret),
    // A copy: the caller may overwrite its own.
    secret: Uint8Array.from(secret),
    head: encodeTokenPart({ alg: tokenAlgorithm, typ: tokenType, kid }),
  };
}

export function encodeTokenPart(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}
