/** Forges call tokens with Node's own HMAC over parts that a test writes. */
import { createHmac } from 'node:crypto';
import type { CallTokenClaims } from '../../src/protocol/call-token/call-token.ts';
import type { TokenKey } from '../../src/protocol/call-token/token-keys.ts';
import type { SessionId, TokenId } from '../../src/model/ids.ts';
import { testDevice } from './fakes.ts';

export const newKey: TokenKey = { kid: '1a2b3c4d', secret: Buffer.alloc(32, 0x11) };
export const formerKey: TokenKey = { kid: '00ff00ff', secret: Buffer.alloc(32, 0x22) };
export const strangeKey: TokenKey = { kid: 'deadbeef', secret: Buffer.alloc(32, 0x33) };

export const sampleClaims: CallTokenClaims = {
  deviceId: testDevice,
  sessionId: '0190b1c2-7d3e-7000-8000-0123456789ab' as SessionId,
  tokenId: '0190b1c2-7d3e-7000-8000-0123456789cd' as TokenId,
  issuedAtS: 1_800_000_000,
  expiresAtS: 1_800_000_090,
};

export const goodHeader = { alg: 'HS256', typ: 'JWT', kid: newKey.kid };
export const goodPayload = {
  iss: 'reveille',
  sub: sampleClaims.deviceId as string,
  aud: 'msgvoip',
  sid: sampleClaims.sessionId as string,
  jti: sampleClaims.tokenId as string,
  iat: sampleClaims.issuedAtS,
  exp: sampleClaims.expiresAtS,
};

/** Strings are used as they are; anything else is encoded as JSON. */
export function craftToken(
  header: unknown,
  payload: unknown,
  { secret }: TokenKey = newKey,
  hash = 'sha256',
): string {
  const signed = `${base64url(header)}.${base64url(payload)}`;
  return `${signed}.${createHmac(hash, secret).update(signed).digest('base64url')}`;
}

export function base64url(part: unknown): string {
  return Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url');
}
