/** HMAC-SHA256 by one-shot hashes, against node:crypto's. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { hmacSha256, hmacSha256OfSecret } from '../../src/lib/crypto/hmac.ts';

const key = fc.uint8Array({ minLength: 32, maxLength: 32 });
const secret = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 80 });
const text = fc.string({ unit: 'grapheme', maxLength: 30 });

test('our HMAC equals that of node:crypto, whatever key and text came before', () => {
  const keys = fc.array(fc.oneof(key, secret), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(keys, fc.array(fc.tuple(fc.nat(), text), { maxLength: 6 }), (keys, asked) => {
      for (const [at, text] of asked) {
        const key = keys[at % keys.length] ?? '';
        assert.equal(macOf(key, text), createHmac('sha256', key).update(text).digest('hex'));
      }
    }),
  );
});

for (const bytes of [63, 64, 65, 1024])
  test(`our HMAC equals that of node:crypto for a secret of ${bytes} bytes`, () => {
    const secret = 'é'.repeat(bytes >> 1) + 'x'.repeat(bytes & 1);

    const mac = hmacSha256OfSecret(secret, 'text');

    assert.deepEqual(mac, createHmac('sha256', secret).update('text').digest());
  });

test('our HMAC of the longest text equals that of node:crypto, in base64url as in hex', () => {
  const key = new Uint8Array(32).fill(7);
  const text = 'x'.repeat(1536);
  for (const encoding of ['hex', 'base64url'] as const)
    assert.equal(hmacSha256(key, text, encoding), createHmac('sha256', key).update(text).digest(encoding));
  assert.throws(() => hmacSha256(key, `${text}x`, 'hex'), /fits the block/);
});

function macOf(key: Uint8Array | string, text: string): string {
  return typeof key === 'string'
    ? hmacSha256OfSecret(key, text).toString('hex')
    : hmacSha256(key, text, 'hex');
}
