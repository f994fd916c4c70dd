import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TokenKeys } from '../../../../src/protocol/call-token/token-keys.ts';
import { formerKey, newKey, strangeKey } from '../../../support/call-tokens.ts';

test('the first key signs, and each is found by its kid', () => {
  const keys = new TokenKeys([newKey, formerKey]);
  assert.equal(keys.first.kid, newKey.kid);
  assert.equal(keys.find(newKey.kid), keys.first);
  assert.equal(keys.find(formerKey.kid)?.kid, formerKey.kid);
  for (const kid of [strangeKey.kid, '', '__proto__', newKey.kid.toUpperCase()])
    assert.equal(keys.find(kid), null, kid);
});

for (const [fault, keys] of Object.entries({
  'no key': [],
  'too many keys': [newKey, formerKey, strangeKey],
  'two of one kid': [newKey, { ...formerKey, kid: newKey.kid }],
  'a short secret': [{ kid: 'short', secret: Buffer.alloc(31) }],
}))
  test(`${fault}: the live keys stay`, () => {
    assert.throws(() => new TokenKeys(keys), /invariant/);
    const live = new TokenKeys([newKey]);
    assert.throws(() => live.replace(keys), /invariant/);
    assert.equal(live.first.kid, newKey.kid);
  });
