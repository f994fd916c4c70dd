import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  checkCallToken,
  hasTokenRoom,
  signCallToken,
} from '../../../../src/protocol/call-token/call-token.ts';
import { TokenKeys } from '../../../../src/protocol/call-token/token-keys.ts';
import { fail, succeed } from '../../../../src/lib/result.ts';
import type { TokenRefusal } from '../../../../src/model/call.ts';
import { parseDeviceId, type DeviceId } from '../../../../src/model/ids.ts';
import { callTokenBytesMax } from '../../../../src/model/limits.ts';
import {
  base64url,
  craftToken,
  formerKey,
  goodHeader,
  goodPayload,
  newKey,
  sampleClaims,
  strangeKey,
} from '../../../support/call-tokens.ts';

const keys = new TokenKeys([newKey, formerKey]);
const [header64, payload64, mac64] = craftToken(goodHeader, goodPayload).split('.') as [
  string,
  string,
  string,
];

function deviceIdOf(text: string): DeviceId {
  const deviceId = parseDeviceId(text);
  assert.ok(deviceId !== null);
  return deviceId;
}

test('a signed token has the claims it was signed with', async () => {
  const token = signCallToken(keys, sampleClaims);
  assert.deepEqual(await checkCallToken(keys, token), succeed(sampleClaims));
});

test('the time is not checked: an expired token and a future one are accepted', async () => {
  for (const [issuedAtS, expiresAtS] of [
    [1, 2],
    [9_000_000_000, 9_000_000_090],
  ] as const) {
    const claims = { ...sampleClaims, issuedAtS, expiresAtS };
    assert.deepEqual(await checkCallToken(keys, signCallToken(keys, claims)), succeed(claims));
  }
});

test('a device id of any characters survives', async () => {
  for (const text of ['\ufeff\0"\\/😀', '\u{10ffff}'.repeat(63), `\ufeff${'é'.repeat(126)}`, ' ', '\u2028']) {
    const claims = { ...sampleClaims, deviceId: deviceIdOf(text) };
    assert.deepEqual(await checkCallToken(keys, signCallToken(keys, claims)), succeed(claims));
  }
});

test('the longest token with room is within its limit, and one without room is not signed', async () => {
  const wideKey = { kid: 'k'.repeat(32), secret: newKey.secret };
  const wideKeys = new TokenKeys([wideKey]);
  const longest = deviceIdOf(`${'\u0001'.repeat(127)}${'x'.repeat(4)}`);
  const late = { ...sampleClaims, issuedAtS: 99_999_999_999, expiresAtS: 99_999_999_999 };
  assert.equal(hasTokenRoom(longest), true);
  assert.equal(hasTokenRoom(deviceIdOf(`${longest}x`)), false);
  assert.equal(hasTokenRoom(deviceIdOf('"'.repeat(255))), true);
  const token = signCallToken(wideKeys, { ...late, deviceId: longest });
  assert.ok(token.length < callTokenBytesMax, `${token.length}`);
  const full = deviceIdOf('\u0001'.repeat(255));
  assert.equal(hasTokenRoom(full), false);
  assert.throws(() => signCallToken(wideKeys, { ...late, deviceId: full }), /invariant/);
});

test('after a rotation, a token of the former key is valid until that key is retired', async () => {
  const rotating = new TokenKeys([newKey]);
  const token = signCallToken(rotating, sampleClaims);
  rotating.replace([strangeKey, newKey]);
  assert.ok((await checkCallToken(rotating, token)).ok);
  const next = signCallToken(rotating, sampleClaims);
  rotating.replace([strangeKey]);
  assert.deepEqual(await checkCallToken(rotating, token), fail('unknown_key'));
  assert.ok((await checkCallToken(rotating, next)).ok);
});

const refused: readonly (readonly [what: string, token: string, refusal: TokenRefusal])[] = [
  ['nothing', '', 'malformed'],
  ['two parts', `${header64}.${payload64}`, 'malformed'],
  ['four parts', `${header64}.${payload64}.${mac64}.`, 'malformed'],
  ['five parts, as an encrypted one has', `${header64}...${payload64}.${mac64}`, 'malformed'],
  ['no head', `.${payload64}.${mac64}`, 'malformed'],
  ['no claims', `${header64}..${mac64}`, 'malformed'],
  ['white space behind it', `${header64}.${payload64}.${mac64} `, 'malformed'],
  ['a line feed behind it', `${header64}.${payload64}.${mac64}\n`, 'malformed'],
  ['padding', `${header64}.${payload64}.${mac64}=`, 'malformed'],
  ['the other base64', `${header64}.${payload64}.+${mac64.slice(1)}`, 'malformed'],
  ['more bytes than a token has', `${header64}.${'A'.repeat(callTokenBytesMax)}.${mac64}`, 'malformed'],
  ['a head that is no JSON', craftToken('{', goodPayload), 'malformed'],
  ['a head that is a list', craftToken([goodHeader], goodPayload), 'malformed'],
  ['a head that is null', craftToken(null, goodPayload), 'malformed'],
  ['no algorithm', craftToken({ typ: 'JWT', kid: newKey.kid }, goodPayload), 'malformed'],
  ['an algorithm that is no text', craftToken({ ...goodHeader, alg: ['HS256'] }, goodPayload), 'malformed'],
  [
    'an extension that must be understood',
    craftToken({ ...goodHeader, crit: ['b64'], b64: false }, goodPayload),
    'malformed',
  ],
  ['another type', craftToken({ ...goodHeader, typ: 'at+jwt' }, goodPayload), 'malformed'],
  ['no type', craftToken({ alg: 'HS256', kid: newKey.kid }, goodPayload), 'malformed'],

  ['no signature at all', `${base64url({ ...goodHeader, alg: 'none' })}.${payload64}.`, 'algorithm'],
  ['none, signed', craftToken({ ...goodHeader, alg: 'none' }, goodPayload), 'algorithm'],
  ['None', craftToken({ ...goodHeader, alg: 'None' }, goodPayload), 'algorithm'],
  ['RS256', craftToken({ ...goodHeader, alg: 'RS256' }, goodPayload), 'algorithm'],
  [
    'HS512 by a live key',
    craftToken({ ...goodHeader, alg: 'HS512' }, goodPayload, newKey, 'sha512'),
    'algorithm',
  ],
  ['hs256', craftToken({ ...goodHeader, alg: 'hs256' }, goodPayload), 'algorithm'],

  ['no kid', craftToken({ alg: 'HS256', typ: 'JWT' }, goodPayload), 'unknown_key'],
  ['a kid that is no text', craftToken({ ...goodHeader, kid: 1 }, goodPayload), 'unknown_key'],
  [
    'a kid of no live key',
    craftToken({ ...goodHeader, kid: strangeKey.kid }, goodPayload, strangeKey),
    'unknown_key',
  ],
  ['a kid of a prototype', craftToken({ ...goodHeader, kid: '__proto__' }, goodPayload), 'unknown_key'],

  ["another's signature", craftToken(goodHeader, goodPayload, strangeKey), 'signature'],
  ["the other live key's signature", craftToken(goodHeader, goodPayload, formerKey), 'signature'],
  ['an empty key', craftToken(goodHeader, goodPayload, { kid: '', secret: Buffer.alloc(0) }), 'signature'],
  ['an empty signature', `${header64}.${payload64}.`, 'signature'],
  ['half a signature', `${header64}.${payload64}.${mac64.slice(0, 22)}`, 'signature'],
  ['another hash', craftToken(goodHeader, goodPayload, newKey, 'sha512'), 'signature'],
  ['other claims', `${header64}.${base64url({ ...goodPayload, sub: 'ANOTHER' })}.${mac64}`, 'signature'],
  ['claims that are no JSON, unsigned', `${header64}.AAAA.${mac64}`, 'signature'],

  ['claims that are no JSON', craftToken(goodHeader, 'claims'), 'malformed'],
  ['claims that are a list', craftToken(goodHeader, [goodPayload]), 'malformed'],
  ['another issuer', craftToken(goodHeader, { ...goodPayload, iss: 'revaille' }), 'issuer'],
  ['an issuer among others', craftToken(goodHeader, { ...goodPayload, iss: ['reveille'] }), 'issuer'],
  ['another audience', craftToken(goodHeader, { ...goodPayload, aud: 'msgvoip2' }), 'audience'],
  ['no audience in its list', craftToken(goodHeader, { ...goodPayload, aud: [] }), 'audience'],
];

for (const [what, token, refusal] of refused)
  test(`a token with ${what} is refused: ${refusal}`, async () => {
    assert.deepEqual(await checkCallToken(keys, token), fail(refusal));
  });

for (const claim of Object.keys(goodPayload))
  test(`a token without ${claim} is refused: malformed`, async () => {
    const token = craftToken(goodHeader, { ...goodPayload, [claim]: undefined });
    assert.deepEqual(await checkCallToken(keys, token), fail('malformed'));
  });

const wrongClaims: readonly Record<string, unknown>[] = [
  { sub: '' },
  { sub: 7 },
  { sub: 'x'.repeat(256) },
  { sub: '\ud800' },
  { sid: '' },
  { sid: null },
  { jti: '' },
  { jti: ['a'] },
  { iat: '1800000000' },
  { iat: 1.5 },
  { iat: -1 },
  { exp: 0 },
  { exp: 1e300 },
  { exp: null },
  { nbf: 1 },
];

for (const claims of wrongClaims)
  test(`a token with ${JSON.stringify(claims).slice(0, 40)} is refused: malformed`, async () => {
    const token = craftToken(goodHeader, { ...goodPayload, ...claims });
    assert.deepEqual(await checkCallToken(keys, token), fail('malformed'));
  });
