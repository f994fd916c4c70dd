/**
 * Tokens by which a device connects to its call: JWTs, HS256, signed here and verified by jose. This file checks a token's form,
 * signature, issuer and audience; its time, device and session are checked by the owner of the calls. Source:
 * calls-and-media.md, Credential issuance.
 */
import { decodeProtectedHeader, errors, jwtVerify, type JWTPayload } from 'jose';
import { assert } from '../../lib/assert.ts';
import { hmacSha256 } from '../../lib/crypto/hmac.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { TokenRefusal } from '../../model/call.ts';
import { parseDeviceId, type DeviceId, type SessionId, type TokenId } from '../../model/ids.ts';
import { callTokenBytesMax } from '../../model/limits.ts';
import { encodeTokenPart, tokenAlgorithm, tokenType, type TokenKeys } from './token-keys.ts';

export interface CallTokenClaims {
  readonly deviceId: DeviceId;
  readonly sessionId: SessionId;
  readonly tokenId: TokenId;
  /** Unix seconds. */
  readonly issuedAtS: number;
  /** Unix seconds: deadline of the first connect. */
  readonly expiresAtS: number;
}

const issuer = 'reveille';
const audience = 'msgvoip';

/**
 * At most `callTokenBytesMax` ASCII characters, if `hasTokenRoom` accepts the device id. Not built by jose, which encodes the
 * head and checks the key for every token: most of a token's cost.
 */
export function signCallToken(keys: TokenKeys, claims: CallTokenClaims): string {
  const { head, secret } = keys.first;
  const payload = encodeTokenPart({
    iss: issuer,
    sub: claims.deviceId,
    aud: audience,
    sid: claims.sessionId,
    jti: claims.tokenId,
    iat: claims.issuedAtS,
    exp: claims.expiresAtS,
  });
  const signed = `${head}.${payload}`;
  const token = `${signed}.${hmacSha256(secret, signed, 'base64url')}`;
  assert(token.length <= callTokenBytesMax, 'hasTokenRoom was checked before a token is issued');
  return token;
}

/** Maximum size of `sub` as JSON with its quotes; the other claims, the head and the signature need less than 512 bytes. */
const subjectBytesMax = 768;

/** False: the token would exceed `callTokenBytesMax`. A device id has up to 255 bytes, and JSON needs six for each control character. */
export function hasTokenRoom(deviceId: DeviceId): boolean {
  return Buffer.byteLength(JSON.stringify(deviceId)) <= subjectBytesMax;
}

/** The claims, or the reason for rejection: the first in the order form, algorithm, key, signature, claims. Never rejects. */
export async function checkCallToken(
  keys: TokenKeys,
  token: string,
): Promise<Result<CallTokenClaims, TokenRefusal>> {
  if (token.length > callTokenBytesMax || !tokenForm.test(token)) return fail('malformed');
  const header = readHeader(token);
  if (typeof header?.alg !== 'string') return fail('malformed');
  if (header.alg !== tokenAlgorithm) return fail('algorithm');
  const live = typeof header.kid === 'string' ? keys.find(header.kid) : null;
  if (live === null) return fail('unknown_key');
  if (!macForm.test(token)) return fail('signature');
  try {
    const { payload } = await jwtVerify(token, live.key, expectations);
    return readClaims(payload);
  } catch (error) {
    return fail(refusalOf(error));
  }
}

/** Stricter than jose's decoder, which also accepts white space and padding: a token has one spelling. */
const tokenForm = /^[\w-]+\.[\w-]+\.[\w-]*$/;
/** 32 bytes; the two unused bits at the end are zero. */
const macForm = /\.[\w-]{42}[AEIMQUYcgkosw048]$/;

/** At time 0 nothing has expired: jose checks everything but the time, which comes from the injected clock. */
const expectations = {
  algorithms: [tokenAlgorithm],
  issuer,
  audience,
  typ: tokenType,
  requiredClaims: ['sub', 'sid', 'jti', 'iat', 'exp'],
  currentDate: new Date(0),
};

function readHeader(token: string): ReturnType<typeof decodeProtectedHeader> | null {
  try {
    return decodeProtectedHeader(token);
  } catch {
    return null;
  }
}

function readClaims({ sub, sid, jti, iat, exp }: JWTPayload): Result<CallTokenClaims, TokenRefusal> {
  const deviceId = typeof sub === 'string' ? parseDeviceId(sub) : null;
  if (deviceId === null || !isName(sid) || !isName(jti) || !isSeconds(iat) || !isSeconds(exp))
    return fail('malformed');
  return succeed({
    deviceId,
    sessionId: sid as SessionId,
    tokenId: jti as TokenId,
    issuedAtS: iat,
    expiresAtS: exp,
  });
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isSeconds(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function refusalOf(error: unknown): TokenRefusal {
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'signature';
  if (!(error instanceof errors.JWTClaimValidationFailed) || error.reason === 'missing') return 'malformed';
  if (error.claim === 'iss') return 'issuer';
  return error.claim === 'aud' ? 'audience' : 'malformed';
}
