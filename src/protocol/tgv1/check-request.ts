/**
 * The cheap half of a signed request's check, in the order of the table of failures; what is left to verify
 * comes out as a job. Source: tgv1-signing.md, When it fails.
 */
import { assert } from '../../lib/assert.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { AccessKeyId } from '../../model/ids.ts';
import { isCredentialValid, type Credential } from '../../model/registry.ts';
import { authFailures, missingHeader, outsideWindow, type AuthFailure } from './auth-failure.ts';
import {
  authorizationScheme,
  parseAuthorization,
  signsEnough,
  parseSigningDate,
  type SigningDate,
} from './signing-headers.ts';
import {
  canonicalPath,
  canonicalRequest,
  algorithm,
  signingHeaders,
  type HeaderFields,
  type SigningKeyCache,
  type SignatureJob,
} from './signature.ts';

/** A request as it arrived, copied out of the front end. */
export interface SignedRequest {
  /** As sent, in upper case. */
  readonly method: string;
  /** As sent: neither decoded nor shortened. */
  readonly path: string;
  /** Raw, without its question mark; '' for none. */
  readonly query: string;
  readonly headers: HeaderFields;
  /** Authorization, Content-Type or any X-Tg-* came more than once. */
  readonly repeated: boolean;
  /** Null: no body. */
  readonly body: Uint8Array | null;
}

export interface CheckDependencies {
  findCredential(accessKeyId: AccessKeyId): Credential | null;
  readonly signingKeys: SigningKeyCache;
  /** How far X-Tg-Date may be from `nowMs`, either way, the end included. */
  readonly windowMs: number;
  /** Wall milliseconds. */
  readonly nowMs: number;
}

export interface CheckedRequest {
  readonly credential: Credential;
  readonly job: SignatureJob;
  /** X-Tg-Date in wall milliseconds: the signature can be replayed until this + the window, and no later. */
  readonly dateMs: number;
}

/** Throws only what `findCredential` throws. */
export function checkRequest(
  request: SignedRequest,
  dependencies: CheckDependencies,
): Result<CheckedRequest, AuthFailure> {
  const form = checkForm(request);
  if (!form.ok) return form;
  const { accessKeyId, appId, date } = form.value;
  const credential = dependencies.findCredential(accessKeyId);
  const { nowMs } = dependencies;
  if (credential === null || !isCredentialValid(credential, Math.floor(nowMs / 1000)))
    return fail(authFailures.unknownCredential);
  if (credential.appId !== appId) return fail(authFailures.applicationMismatch);
  if (Math.abs(nowMs - date.ms) > dependencies.windowMs) return fail(outsideWindow(nowMs));
  const job = collectJob(request, form.value, credential, dependencies.signingKeys);
  return succeed({ credential, job, dateMs: date.ms });
}

/** What the headers say once their form is known to be right. */
interface SignedForm {
  readonly accessKeyId: AccessKeyId;
  readonly appId: string;
  readonly date: SigningDate;
  readonly bodySha256: string;
  readonly signedHeaders: string;
  readonly names: readonly string[];
  readonly signature: string;
}

function checkForm({ method, headers, repeated }: SignedRequest): Result<SignedForm, AuthFailure> {
  const algorithmName = headers.get('x-tg-algorithm');
  const dateText = headers.get('x-tg-date');
  const appId = headers.get('x-tg-app-id');
  const bodySha256 = headers.get('x-tg-content-sha256');
  const listText = headers.get('x-tg-signed-headers');
  const header = headers.get('authorization');
  // An empty value says as little as none: both are missing.
  if (!algorithmName || !dateText || !appId || !bodySha256 || !listText || !header)
    return fail(missingHeader(firstMissing(headers)));

  const authorization = parseAuthorization(header);
  const hasScheme = authorization !== null || authorizationScheme(header) === algorithm;
  if (!hasScheme || algorithmName !== algorithm) return fail(authFailures.unsupportedAlgorithm);

  if (repeated || authorization === null) return fail(authFailures.malformedAuthorization);
  const { claim, signature } = authorization;
  const { accessKeyId, scopeDay, signedHeaders, names } = claim;
  if (names === null || listText !== signedHeaders) return fail(authFailures.malformedAuthorization);
  // Only a date that can be read has a day that the scope could miss.
  const date = parseSigningDate(dateText);
  if (date === null) return fail(authFailures.malformedDate);
  if (date.scopeDay !== scopeDay) return fail(authFailures.malformedAuthorization);

  if (!signsEnough(names, method) || !names.every((name) => headers.get(name) !== undefined))
    return fail(authFailures.signedHeadersIncomplete);
  return succeed({ accessKeyId, appId, date, bodySha256, signedHeaders, names, signature });
}

/** As a refusal spells it. */
function firstMissing(headers: HeaderFields): string {
  for (const [name, spelled] of signingHeaders) if (!headers.get(name)) return spelled;
  assert(false, 'a header is missing');
}

function collectJob(
  { method, path: rawPath, query, headers, body }: SignedRequest,
  { date, names, signedHeaders, signature, bodySha256 }: SignedForm,
  credential: Credential,
  signingKeys: SigningKeyCache,
): SignatureJob {
  const path = canonicalPath(rawPath);
  return {
    signingKey: signingKeys.get(credential, date.day, path),
    canonicalRequest: canonicalRequest({ method, path, query, signedHeaders, names, headers, bodySha256 }),
    toSignPrefix: date.toSignPrefix,
    signature,
    bodySha256,
    body,
  };
}
