/**
 * The computation of a signature, the same on the client, the main loop and a worker thread: the words of the scheme, the
 * canonical request, the derived key, and the expensive half of a check: one body hash, one canonical hash, one HMAC. Source:
 * tgv1-signing.md, Computation.
 */
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { signingKeysMax } from '../../model/limits.ts';
import type { AccessKeyId } from '../../model/ids.ts';
import type { Credential } from '../../model/registry.ts';
import { hmacSha256 } from '../../lib/crypto/hmac.ts';

export const algorithm = 'TGV1-HMAC-SHA256';
export const scopeTerminator = 'tgv1_request';

/** Headers of every request by lower-case name, with their spelling in refusals, in the order of the checks. */
export const signingHeaders = [
  ['x-tg-algorithm', 'X-Tg-Algorithm'],
  ['x-tg-date', 'X-Tg-Date'],
  ['x-tg-app-id', 'X-Tg-App-Id'],
  ['x-tg-content-sha256', 'X-Tg-Content-Sha256'],
  ['x-tg-signed-headers', 'X-Tg-Signed-Headers'],
  ['authorization', 'Authorization'],
] as const;

/** Methods whose content headers are signed and whose query is not. */
export function hasBody(method: string): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH';
}

/** Trims spaces, then drops one trailing slash unless the path is only that slash. */
export function canonicalPath(path: string): string {
  let start = 0;
  let end = path.length;
  while (start < end && path[start] === ' ') start += 1;
  while (end > start && path[end - 1] === ' ') end -= 1;
  if (end - start > 1 && path[end - 1] === '/') end -= 1;
  return path.slice(start, end);
}

/** `query` is raw, without its question mark. */
function canonicalQuery(method: string, query: string): string {
  if (hasBody(method)) return '';
  return query.includes('+') ? query.replaceAll('+', '%20') : query;
}

/** Headers by lower-case name, values trimmed; a header without a value has ''. */
export interface HeaderFields {
  get(name: string): string | undefined;
}

export interface CanonicalParts {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** The list as text, and its names. */
  readonly signedHeaders: string;
  readonly names: readonly string[];
  /** Contains every name of the list. */
  readonly headers: HeaderFields;
  readonly bodySha256: string;
}

export function canonicalRequest(parts: CanonicalParts): string {
  let text = `${parts.method}\n${parts.path}\n${canonicalQuery(parts.method, parts.query)}\n`;
  for (const name of parts.names) text += `${name}:${parts.headers.get(name) ?? ''}\n`;
  return `${text}${parts.signedHeaders}\n${parts.bodySha256}`;
}

function hmac(key: string | Uint8Array, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/** k3, 32 bytes. `day`: the signing day, YYYYMMDD, not the scope's; `path`: from canonicalPath. */
export function deriveSigningKey(secretKey: string, day: string, path: string): Uint8Array {
  return hmac(hmac(hmac(`TGV1${secretKey}`, day), path), scopeTerminator);
}

interface KeptKey {
  readonly secretKey: string;
  readonly key: Uint8Array;
}

interface LastKey {
  readonly credential: Credential;
  readonly day: string;
  readonly path: string;
  readonly key: Uint8Array;
}

export class SigningKeyCache {
  readonly #keys: LRUCache<string, KeptKey>;
  /** A client repeats one request many times, and a lookup has to build a name each time. */
  #last: LastKey | null = null;

  constructor(keysMax: number = signingKeysMax) {
    this.#keys = new LRUCache({ max: keysMax });
  }

  /** 32 bytes, read-only. A changed secret never yields a cached key. */
  get(credential: Credential, day: string, path: string): Uint8Array {
    const last = this.#last;
    if (last !== null && last.credential === credential && last.path === path && last.day === day)
      return last.key;
    const key = this.#find(credential, day, path);
    this.#last = { credential, day, path, key };
    return key;
  }

  #find(credential: Credential, day: string, path: string): Uint8Array {
    const name = `${credential.accessKeyId}/${day}${path}`;
    const kept = this.#keys.get(name);
    if (kept !== undefined && kept.secretKey === credential.secretKey) return kept.key;
    const key = deriveSigningKey(credential.secretKey, day, path);
    this.#keys.set(name, { secretKey: credential.secretKey, key });
    return key;
  }

  /** Forgets the keys of one credential: it was revoked, rotated or changed. */
  purge(accessKeyId: AccessKeyId): void {
    this.#last = null;
    // An access key id contains no slash, so no prefix matches another id.
    const beginning = `${accessKeyId}/`;
    for (const name of this.#keys.keys()) if (name.startsWith(beginning)) this.#keys.delete(name);
  }

  /** Forgets all keys: the registry was replaced. */
  purgeAll(): void {
    this.#last = null;
    this.#keys.clear();
  }

  get size(): number {
    return this.#keys.size;
  }
}

/** SHA-256 of no bytes, for a request without a body. */
export const emptySha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/** 64 lowercase hex digits. A string is hashed as UTF-8. */
export function sha256Hex(content: string | Uint8Array): string {
  return hash('sha256', content);
}

/** Input of a check. A worker receives the canonical request as the UTF-8 bytes to hash, not as text. */
export interface SignatureEvidence {
  /** Derived key k3, 32 bytes. */
  readonly signingKey: Uint8Array;
  readonly canonicalRequest: string | Uint8Array;
  /** Text before the canonical hash in the string to sign: scheme, date and scope, each with its LF. */
  readonly toSignPrefix: string;
  /** As in Authorization: 64 hex digits; only lower-case ones can match. */
  readonly signature: string;
  readonly bodySha256: string;
  readonly body: Uint8Array | null;
}

/** Evidence as collected on the main loop, with the canonical request as text. */
export interface SignatureJob extends SignatureEvidence {
  readonly canonicalRequest: string;
}

export type SignatureVerdict = 'valid' | 'body-hash-mismatch' | 'signature-mismatch';

/** Checks the body first, in the order of the table of failures. */
export function verifySignature(evidence: SignatureEvidence): SignatureVerdict {
  if (bodyHash(evidence.body) !== evidence.bodySha256) return 'body-hash-mismatch';
  const signature = hmacSha256(evidence.signingKey, stringToSign(evidence), 'hex');
  return sameSignature(signature, evidence.signature) ? 'valid' : 'signature-mismatch';
}

export function stringToSign(evidence: SignatureEvidence): string {
  return evidence.toSignPrefix + sha256Hex(evidence.canonicalRequest);
}

function bodyHash(body: Uint8Array | null): string {
  return body === null || body.length === 0 ? emptySha256 : sha256Hex(body);
}

const expected = Buffer.alloc(64);
const given = Buffer.alloc(64);

/** Constant time. `signature`: computed here, 64 lowercase hex digits. */
function sameSignature(signature: string, claimed: string): boolean {
  // As UTF-8, no other character has the bytes of a digit.
  if (claimed.length !== 64 || given.write(claimed) !== 64) return false;
  expected.write(signature, 'latin1');
  return timingSafeEqual(expected, given);
}
