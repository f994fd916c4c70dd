/** Reasons for refusing a signed request: the stable messages of tgv1-signing.md, When it fails. */
import { formatSigningDate, parseSigningDate } from './signing-headers.ts';
import { stringToSign, type SignatureJob, type SignatureVerdict } from './signature.ts';

/** In the order of the checks; the label of `reveille_auth_failures_total`. */
export type AuthFailureReason =
  | 'missing_header'
  | 'unsupported_algorithm'
  | 'malformed_authorization'
  | 'malformed_date'
  | 'signed_headers_incomplete'
  | 'unknown_credential'
  | 'application_mismatch'
  | 'outside_window'
  | 'body_hash_mismatch'
  | 'signature_mismatch';

/** The server's computation, for comparison by a client's author; contains no secret. */
export interface SigningExplanation {
  readonly canonicalRequest: string;
  readonly stringToSign: string;
}

export interface AuthFailure {
  readonly reason: AuthFailureReason;
  /** Contract, byte for byte. */
  readonly message: string;
  /** Only for a signature mismatch. */
  readonly explained?: SigningExplanation;
}

function failure(reason: AuthFailureReason, message: string): AuthFailure {
  return { reason, message };
}

export const authFailures = {
  unsupportedAlgorithm: failure('unsupported_algorithm', 'unsupported algorithm'),
  malformedAuthorization: failure('malformed_authorization', 'malformed authorization'),
  malformedDate: failure('malformed_date', 'malformed X-Tg-Date'),
  signedHeadersIncomplete: failure('signed_headers_incomplete', 'signed headers incomplete'),
  unknownCredential: failure('unknown_credential', 'unknown or revoked credential'),
  applicationMismatch: failure('application_mismatch', 'application mismatch'),
  bodyHashMismatch: failure('body_hash_mismatch', 'body hash mismatch'),
  signatureMismatch: failure('signature_mismatch', 'signature mismatch'),
} as const;

/** `name`: spelled as in the table of headers. */
export function missingHeader(name: string): AuthFailure {
  return failure('missing_header', `missing header ${name}`);
}

const outsideWindowWords = 'request time outside the allowed window; server time ';

export function outsideWindow(nowMs: number): AuthFailure {
  return failure('outside_window', outsideWindowWords + formatSigningDate(nowMs));
}

/** The server time in an `outsideWindow` message, wall milliseconds; null: another message. */
export function serverTimeOf(message: string): number | null {
  if (!message.startsWith(outsideWindowWords)) return null;
  return parseSigningDate(message.slice(outsideWindowWords.length))?.ms ?? null;
}

export function verdictFailure(verdict: Exclude<SignatureVerdict, 'valid'>, job: SignatureJob): AuthFailure {
  if (verdict === 'body-hash-mismatch') return authFailures.bodyHashMismatch;
  const explained = { canonicalRequest: job.canonicalRequest, stringToSign: stringToSign(job) };
  return { ...authFailures.signatureMismatch, explained };
}
