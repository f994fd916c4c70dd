/** The derived key of a credential, a day and a path, and the bounded memory of them. Source: tgv1-signing.md. */
import { createHmac } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { signingKeysMax } from '../../model/limits.ts';
import type { AccessKeyId } from '../../model/ids.ts';
import type { Credential } from '../../model/registry.ts';
import { scopeTerminator } from './scheme.ts';

function hmac(key: string | Uint8Array, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/** k3, 32 bytes. `day` is the signing day, YYYYMMDD, not the scope's; `path` is that of canonicalPath. */
export function deriveSigningKey(secretKey: string, day: string, path: string): Uint8Array {
  return hmac(hmac(hmac(`TGV1${secretKey}`, day), path), scopeTerminator);
}

interface KeptKey {
  readonly secretKey: string;
  readonly key: Uint8Array;
}

export class SigningKeyCache {
  readonly #keys: LRUCache<string, KeptKey>;

  constructor(keysMax: number = signingKeysMax) {
    this.#keys = new LRUCache({ max: keysMax });
  }

  /** 32 bytes, not to be changed. Never the key of a secret that the credential no longer has. */
  get(credential: Credential, day: string, path: string): Uint8Array {
    const name = `${credential.accessKeyId}/${day}${path}`;
    const kept = this.#keys.get(name);
    if (kept !== undefined && kept.secretKey === credential.secretKey) return kept.key;
    const key = deriveSigningKey(credential.secretKey, day, path);
    this.#keys.set(name, { secretKey: credential.secretKey, key });
    return key;
  }

  /** Forgets what was derived for one credential: it was revoked, rotated or changed. */
  purge(accessKeyId: AccessKeyId): void {
    // An access key id has no slash, so none is the beginning of another's name.
    const beginning = `${accessKeyId}/`;
    for (const name of this.#keys.keys()) if (name.startsWith(beginning)) this.#keys.delete(name);
  }

  /** Forgets everything: the registry was replaced. */
  purgeAll(): void {
    this.#keys.clear();
  }

  get size(): number {
    return this.#keys.size;
  }
}
