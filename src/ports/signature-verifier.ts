/** The expensive half of a signed request's check: one body hash, one canonical hash, one HMAC. */

export interface SignatureJob {
  /** Derived key k3, 32 bytes. */
  readonly signingKey: Uint8Array;
  readonly canonicalRequest: string;
  /** What stands before the canonical hash in the string to sign: scheme, date and scope, each with its LF. */
  readonly toSignPrefix: string;
  /** As it came in Authorization: 64 lowercase hex digits. */
  readonly signature: string;
  /** X-Tg-Content-Sha256 as it came. */
  readonly bodySha256: string;
  /** Null: no body. */
  readonly body: Uint8Array | null;
}

export type SignatureVerdict = 'valid' | 'body-hash-mismatch' | 'signature-mismatch';

export interface SignatureVerifier {
  /** A value when checked inline; a promise when a worker does it. Rejects only when no worker can be had. */
  verify(job: SignatureJob): SignatureVerdict | Promise<SignatureVerdict>;
  close(): Promise<void>;
}
