import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InlineVerifier } from '../../../../src/gateways/verification/inline-verifier.ts';
import { jobOf, signed } from '../../../support/signed-requests.ts';

test('the inline verifier answers at once', async () => {
  const verifier = new InlineVerifier();
  const job = jobOf(signed());

  assert.equal(verifier.verify(job), 'valid');
  assert.equal(verifier.verify({ ...job, signature: '0'.repeat(64) }), 'signature-mismatch');
  await verifier.close();
});
