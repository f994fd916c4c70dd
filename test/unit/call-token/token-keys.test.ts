import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TokenKeys } from '../../../src/call-token/token-keys.ts';
import { formerKey, newKey, strangeKey } from '../../support/call-tokens.ts';

test('the first key signs, and each is found by its kid', async () => {
  const keys = await TokenKeys.of([newKey, formerKey]);
  assert.equal(keys.first.kid, newKey.kid);
  assert.equal(keys.find(newKey.kid), keys.first);
  assert.equal(keys.find(formerKey.kid)?.kid, formerKey.kid);
  for (const kid of [strangeKey.kid, '', '__proto__', newKey.kid.toUpperCase()])
    assert.equal(keys.find(kid), null, kid);
});

test('keys that replace others are all there at once, and the others are gone', async () => {
  const keys = await TokenKeys.of([newKey, formerKey]);
  const before = keys.first;
  const replaced = keys.replace([strangeKey, newKey]);
  assert.equal(keys.first, before, 'until they are imported');
  assert.notEqual(keys.find(formerKey.kid), null);
  await replaced;
  assert.equal(keys.first.kid, strangeKey.kid);
  assert.equal(keys.find(newKey.kid)?.kid, newKey.kid);
  assert.equal(keys.find(formerKey.kid), null);
});

test('a live key cannot be read out', async () => {
  const { key } = (await TokenKeys.of([newKey])).first;
  assert.equal(key.extractable, false);
  assert.deepEqual(key.usages.toSorted(), ['sign', 'verify']);
  await assert.rejects(crypto.subtle.exportKey('raw', key));
});

for (const [fault, keys] of Object.entries({
  'no key': [],
  'too many keys': [newKey, formerKey, strangeKey],
  'two of one kid': [newKey, { ...formerKey, kid: newKey.kid }],
  'a short secret': [{ kid: 'short', secret: Buffer.alloc(31) }],
}))
  test(`${fault}: what was live stays`, async () => {
    await assert.rejects(async () => TokenKeys.of(keys), /invariant/);
    const live = await TokenKeys.of([newKey]);
    await assert.rejects(async () => live.replace(keys), /invariant/);
    assert.equal(live.first.kid, newKey.kid);
  });
