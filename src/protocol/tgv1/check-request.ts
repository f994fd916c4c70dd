/**
 * The cheap checks of a signed request, in the order of the table of failures; the expensive rest is returned as a job. Source:
 * tgv1-signing.md, When it fails.
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

export interface SignedRequest {
  /** As sent, in upper case. */
  readonly method: string;
  /** As sent: neither decoded nor normalised. */
  readonly path: string;
  /** Raw, without its question mark; '' for none. */
  readonly query: string;
  readonly headers: HeaderFields;
  /** Authorization, Content-Type or any X-Tg-* was sent more than once. */
  readonly repeated: boolean;
  readonly body: Uint8Array | null;
}

export interface CheckDependencies {
  findCredential(accessKeyId: AccessKeyId): Credential | null;
  readonly signingKeys: SigningKeyCache;
  /** Maximum distance of X-Tg-Date from now, in both directions, inclusive. */
  readonly windowMs: number;
  wallMs(): number;
}

export interface CheckedRequest {
  readonly credential: Credential;
  readonly job: SignatureJob;
  /** X-Tg-Date in wall milliseconds: the signature can be replayed until this plus the window. */
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
  const nowMs = dependencies.wallMs();
  if (credential === null || !isCredentialValid(credential, Math.floor(nowMs / 1000)))
    return fail(authFailures.unknownCredential);
  if (credential.appId !== appId) return fail(authFailures.applicationMismatch);
  if (Math.abs(nowMs - date.ms) > dependencies.windowMs) return fail(outsideWindow(nowMs));
  const job = collectJob(request, form.value, credential, dependencies.signingKeys);
  return succeed({ credential, job, dateMs: date.ms });
}

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
  // An empty value counts as missing.
  if (!algorithmName || !dateText || !appId || !bodySha256 || !listText || !header)
    return fail(missingHeader(firstMissing(headers)));

  const authorization = parseAuthorization(header);
  const hasScheme = authorization !== null || authorizationScheme(header) === algorithm;
  if (!hasScheme || algorithmName !== algorithm) return fail(authFailures.unsupportedAlgorithm);

  if (repeated || authorization === null) return fail(authFailures.malformedAuthorization);
  const { claim, signature } = authorization;
  const { accessKeyId, scopeDay, signedHeaders, names } = claim;
  if (names === null || listText !== signedHeaders) return fail(authFailures.malformedAuthorization);
  // Only a readable date has a day to compare with the scope.
  const date = parseSigningDate(dateText);
  if (date === null) return fail(authFailures.malformedDate);
  if (date.scopeDay !== scopeDay) return fail(authFailures.malformedAuthorization);

  if (!signsEnough(names, method) || !names.every((name) => headers.get(name) !== undefined))
    return fail(authFailures.signedHeadersIncomplete);
  return succeed({ accessKeyId, appId, date, bodySha256, signedHeaders, names, signature });
}

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
