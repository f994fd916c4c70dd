/**
 * The keys of calls' tokens that are live in this process. The first signs, all verify: so a new key can take over
 * while tokens of the former one are still on their way. Each is imported once, since that costs more than a signature.
 * Where they are kept is the store's. Source: calls-and-media.md, Credential issuance.
 */
import { createSecretKey, type KeyObject } from 'node:crypto';
import { assert } from '../../lib/assert.ts';
import { tokenKeysMax } from '../../model/limits.ts';

export interface TokenKey {
  /** Names it in the head of a token: 1-32 characters of `A-Z a-z 0-9 _ . -`. */
  readonly kid: string;
  /** 32 bytes. */
  readonly secret: Uint8Array;
}

/** As Node's own HMAC takes it. */
export interface LiveTokenKey {
  readonly kid: string;
  readonly key: KeyObject;
  /** The first part of every token that it signs. */
  readonly head: string;
}

/** Of a token's head. */
export const tokenAlgorithm = 'HS256';
export const tokenType = 'JWT';

export const tokenSecretBytes = 32;

export class TokenKeys {
  #live: readonly LiveTokenKey[];

  /** 1 to `tokenKeysMax` keys of different kids, the one that signs first. */
  constructor(keys: readonly TokenKey[]) {
    this.#live = importKeys(keys);
  }

  /** All of them at once. */
  replace(keys: readonly TokenKey[]): void {
    this.#live = importKeys(keys);
  }

  /** The one that signs. */
  get first(): LiveTokenKey {
    const [first] = this.#live;
    assert(first !== undefined, 'there is a key that signs');
    return first;
  }

  /** For another process that checks: they are secrets. */
  export(): TokenKey[] {
    return this.#live.map(({ kid, key }) => ({ kid, secret: key.export() }));
  }

  /** Null: no such key is live, or not any more. */
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
    head: encodeTokenPart({ alg: tokenAlgorithm, typ: tokenType, kid }),
  };
}

/** A part of a token as it stands in it. */
export function encodeTokenPart(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}
