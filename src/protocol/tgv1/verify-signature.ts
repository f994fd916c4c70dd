/**
 * The expensive half of a signed request's check: one body hash, one canonical hash, one HMAC. Pure, so that
 * the main loop and a worker thread do the same. Source: tgv1-signing.md, Computation.
 */
import { timingSafeEqual } from 'node:crypto';
import { emptySha256, hmacSha256Hex, sha256Hex } from './sha256.ts';

/** What is checked. A worker has the canonical request as the UTF-8 bytes that are hashed, not as text. */
export interface SignatureEvidence {
  /** Derived key k3, 32 bytes. */
  readonly signingKey: Uint8Array;
  readonly canonicalRequest: string | Uint8Array;
  /** What stands before the canonical hash in the string to sign: scheme, date and scope, each with its LF. */
  readonly toSignPrefix: string;
  /** As it came in Authorization: 64 hex digits, of which only lower-case ones can match. */
  readonly signature: string;
  /** X-Tg-Content-Sha256 as it came. */
  readonly bodySha256: string;
  /** Null: no body. */
  readonly body: Uint8Array | null;
}

/** The same where it was collected: on the main loop, as text. */
export interface SignatureJob extends SignatureEvidence {
  readonly canonicalRequest: string;
}

export type SignatureVerdict = 'valid' | 'body-hash-mismatch' | 'signature-mismatch';

/** The body is checked first: its hash is in the table of failures before the signature. */
export function verifySignature(evidence: SignatureEvidence): SignatureVerdict {
  if (bodyHash(evidence.body) !== evidence.bodySha256) return 'body-hash-mismatch';
  const signature = hmacSha256Hex(evidence.signingKey, stringToSign(evidence));
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

/** In constant time. `signature` is ours, 64 lowercase hex digits. */
function sameSignature(signature: string, claimed: string): boolean {
  // A character beyond Latin-1 would be cut to its low byte below and could pass for a digit.
  if (claimed.length !== 64 || Buffer.byteLength(claimed) !== 64) return false;
  expected.write(signature, 'latin1');
  given.write(claimed, 'latin1');
  return timingSafeEqual(expected, given);
}
