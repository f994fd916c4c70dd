/**
 * The token that lets a device connect to its call: a JWT, HS256, signed here and verified by jose. What is judged here is
 * what the token itself shows: its form, who signed it, for whom. Whether it is in time, and whether its device and its
 * session are still there, is for those who keep the calls. Source: calls-and-media.md, Credential issuance.
 */
import { createHmac } from 'node:crypto';
import { decodeProtectedHeader, errors, jwtVerify, type JWTPayload } from 'jose';
import { assert } from '../../lib/assert.ts';
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
  /** Unix seconds: the end of its first connect. */
  readonly expiresAtS: number;
}

const issuer = 'reveille';
const audience = 'msgvoip';

/**
 * At most `callTokenBytesMax` characters of ASCII, if the device's id has room: see `hasTokenRoom`. Put together here and not
 * by jose, which encodes the head and looks the key over with every token: that is most of what a token cost.
 */
export function signCallToken(keys: TokenKeys, claims: CallTokenClaims): string {
  const { head, key } = keys.first;
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
  const token = `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`;
  assert(token.length <= callTokenBytesMax, 'who issues tokens knows that the device id has room');
  return token;
}

/** Of `sub` as JSON, its quotes included; the rest of the claims, the head and the signature take less than 512 bytes. */
const subjectBytesMax = 768;

/**
 * A device id is any 255 bytes of UTF-8, and JSON takes six for each control character: with very many of them there is
 * no token under `callTokenBytesMax`.
 */
export function hasTokenRoom(deviceId: DeviceId): boolean {
  return Buffer.byteLength(JSON.stringify(deviceId)) <= subjectBytesMax;
}

/**
 * The claims, or why the token is not good; of faults of several kinds the first in the order of form, algorithm, key,
 * signature, claims. Never rejects, whatever it is given.
 */
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

/** jose's own decoder also takes white space and padding: a token has one spelling. */
const tokenForm = /^[\w-]+\.[\w-]+\.[\w-]*$/;
/** 32 bytes, the two bits that are over at their end zero. */
const macForm = /\.[\w-]{42}[AEIMQUYcgkosw048]$/;

/** At the beginning of time nothing has expired: jose checks all but the time, which has to be our clock's. */
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
