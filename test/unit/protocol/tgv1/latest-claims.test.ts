import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAccessKeyId } from '../../../../src/model/ids.ts';
import { LatestClaims, signingClaimsMax, type Claim } from '../../../../src/protocol/tgv1/latest-claims.ts';

function claimOf(accessKey: string): Claim {
  const accessKeyId = parseAccessKeyId(accessKey);
  assert.ok(accessKeyId !== null);
  return { text: `of ${accessKey}`, accessKeyId, scopeDay: '20261127', signedHeaders: '', names: [] };
}

test('of ten thousand callers the latest are kept, and no more of them than there may be', () => {
  const claims = new LatestClaims();
  const all = Array.from({ length: 10_000 }, (_, index) => claimOf(`AK${index}`));
  for (const claim of all) claims.keep(claim);

  assert.equal(claims.size, signingClaimsMax);
  assert.deepEqual(
    all.filter(({ text }) => claims.find(text) !== null),
    all.slice(-signingClaimsMax),
  );
});

test('a claim is found by its very text', () => {
  const claims = new LatestClaims();
  claims.keep(claimOf('AK1'));

  assert.equal(claims.find('of AK1')?.accessKeyId, 'AK1');
  for (const text of ['of AK2', 'of AK1 ', 'of AK', '']) assert.equal(claims.find(text), null, text);
});
