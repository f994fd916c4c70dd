/**
 * Tokens mutated at random from a seed: none is accepted, and none throws. The canary is a faulty checker, which the fuzzer has
 * to catch.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkCallToken } from '../../src/protocol/call-token/call-token.ts';
import { TokenKeys } from '../../src/protocol/call-token/token-keys.ts';
import { legRefusals, type TokenRefusal } from '../../src/model/call.ts';
import { base64url, craftToken, formerKey, goodHeader, goodPayload, newKey } from '../support/call-tokens.ts';
import { chanceFrom, type Chance } from '../support/seeded-random.ts';

const rounds = 6000;
const keys = new TokenKeys([newKey, formerKey]);
const good = [
  craftToken(goodHeader, goodPayload),
  craftToken({ ...goodHeader, kid: formerKey.kid }, goodPayload, formerKey),
];

type Check = (token: string) => Promise<{ readonly ok: boolean; readonly error?: TokenRefusal }>;

const check: Check = (token) => checkCallToken(keys, token);

/** Pieces inserted into a token, or replacing a part of it. */
const pieces = ['.', '..', '=', ' ', '\n', '\0', '-', '_', '+', '/', 'A', 'é', '\u{1f600}', 'x'.repeat(1600)];

const headers: readonly object[] = [
  { ...goodHeader, alg: 'none' },
  { ...goodHeader, alg: 'HS512' },
  { ...goodHeader, alg: 'RS256' },
  { ...goodHeader, kid: formerKey.kid },
  { ...goodHeader, kid: null },
  { ...goodHeader, crit: ['exp'] },
  { ...goodHeader, b64: false, crit: ['b64'] },
  { ...goodHeader, jwk: { kty: 'oct', k: '' } },
  [],
];

function mutated(token: string, chance: Chance): string {
  const [header = '', payload = '', mac = ''] = token.split('.');
  const at = chance.below(token.length + 1);
  const piece = pieces[chance.below(pieces.length)] ?? '';
  switch (chance.below(10)) {
    case 0:
      return token.slice(0, at);
    case 1:
      return token.slice(0, at) + piece + token.slice(at);
    case 2:
      return token.slice(0, at) + piece + token.slice(at + 1 + chance.below(12));
    case 3:
      return token.slice(0, at) + bitFlipped(token.charAt(at), chance) + token.slice(at + 1);
    case 4:
      return `${base64url(headers[chance.below(headers.length)])}.${payload}.${mac}`;
    case 5:
      return `${header}.${base64url({ ...goodPayload, exp: goodPayload.exp + 1 + chance.below(1000) })}.${mac}`;
    case 6:
      return `${header}.${payload}.${bytesFrom(chance, chance.below(40)).toString('base64url')}`;
    case 7:
      return bytesFrom(chance, chance.below(400)).toString('latin1');
    case 8:
      return token + piece;
    default:
      return [header, payload, mac].toReversed().join('.');
  }
}

function bitFlipped(character: string, chance: Chance): string {
  return String.fromCharCode((character.charCodeAt(0) || 0) ^ (1 << chance.below(7)));
}

function bytesFrom(chance: Chance, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => chance.below(256)));
}

/** Counts the refusals; throws at the first mutated token that is accepted, and at a good one that is not. */
async function fuzz(check: Check): Promise<Map<TokenRefusal, number>> {
  const chance = chanceFrom(0x6a77_7431);
  const refusals = new Map<TokenRefusal, number>();
  for (let round = 0; round < rounds; round++) {
    const whole = good[round % good.length] ?? '';
    let token = whole;
    for (let steps = chance.below(3); steps >= 0; steps--) token = mutated(token, chance);
    const checked = await check(token);
    assert.equal(checked.ok, good.includes(token), JSON.stringify(token));
    if (checked.error !== undefined) refusals.set(checked.error, (refusals.get(checked.error) ?? 0) + 1);
    if (round % 100 === 0) assert.ok((await check(whole)).ok);
  }
  return refusals;
}

test('no mutated token is accepted, and none throws', async () => {
  const refusals = await fuzz(check);
  for (const refusal of ['malformed', 'algorithm', 'unknown_key', 'signature'] as const)
    assert.ok((refusals.get(refusal) ?? 0) > rounds / 100, `${refusal}: ${refusals.get(refusal)}`);
  for (const refusal of refusals.keys()) assert.ok(legRefusals.includes(refusal));
});

test('the fuzzer catches a checker that accepts white space and padding', async () => {
  const forgiving: Check = (token) => check(token.trim().replace(/=+$/, ''));
  await assert.rejects(fuzz(forgiving), assert.AssertionError);
});
