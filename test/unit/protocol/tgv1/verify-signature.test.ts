import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verdictFailure } from '../../../../src/protocol/tgv1/auth-failure.ts';
import { stringToSign, verifySignature } from '../../../../src/protocol/tgv1/verify-signature.ts';
import type { SignatureJob } from '../../../../src/protocol/tgv1/verify-signature.ts';
import { jobOf, signed } from '../../../support/signed-requests.ts';

const body = Buffer.from('{"device_id":"TESTDEVICE01"}');
const wakeup = jobOf(signed({ method: 'POST', path: '/v1/device/wakeup-request', rawQuery: '', body }));
const query = jobOf(signed());

test('a signed wakeup and a signed query are valid', () => {
  assert.equal(verifySignature(wakeup), 'valid');
  assert.equal(verifySignature(query), 'valid');
});

test('the canonical request may come as its bytes', () => {
  assert.equal(
    verifySignature({ ...wakeup, canonicalRequest: Buffer.from(wakeup.canonicalRequest) }),
    'valid',
  );
});

test('a body of no bytes is no body', () => {
  assert.equal(verifySignature({ ...query, body: new Uint8Array() }), 'valid');
});

const changes: readonly [string, Partial<SignatureJob>, string][] = [
  ['another body', { body: Buffer.from('{}') }, 'body-hash-mismatch'],
  ['no body', { body: null }, 'body-hash-mismatch'],
  ['its body hash in upper case', { bodySha256: wakeup.bodySha256.toUpperCase() }, 'body-hash-mismatch'],
  ['no body hash', { bodySha256: '' }, 'body-hash-mismatch'],
  ['another key', { signingKey: new Uint8Array(32) }, 'signature-mismatch'],
  ['another canonical request', { canonicalRequest: `${wakeup.canonicalRequest}\n` }, 'signature-mismatch'],
  ['another date', { toSignPrefix: wakeup.toSignPrefix.replace('T08', 'T09') }, 'signature-mismatch'],
  ['its signature in upper case', { signature: wakeup.signature.toUpperCase() }, 'signature-mismatch'],
  ['a shorter signature', { signature: wakeup.signature.slice(1) }, 'signature-mismatch'],
  ['an empty signature', { signature: '' }, 'signature-mismatch'],
  ['both wrong', { body: null, signature: '0'.repeat(64) }, 'body-hash-mismatch'],
];

for (const [what, change, verdict] of changes) {
  test(`a wakeup with ${what} is a ${verdict}`, () => {
    assert.equal(verifySignature({ ...wakeup, ...change }), verdict);
  });
}

test('a signature whose characters only end in the right byte is a mismatch', () => {
  const signature = wakeup.signature.replaceAll(/./g, (digit) =>
    String.fromCharCode(0x100 + digit.charCodeAt(0)),
  );

  assert.equal(verifySignature({ ...wakeup, signature }), 'signature-mismatch');
});

test('a valid verdict is no failure, a body mismatch says so and explains nothing', () => {
  assert.equal(verdictFailure('valid', wakeup), null);
  assert.deepEqual(verdictFailure('body-hash-mismatch', wakeup), {
    reason: 'body_hash_mismatch',
    message: 'body hash mismatch',
  });
});

test('a signature mismatch explains what the server computed', () => {
  assert.deepEqual(verdictFailure('signature-mismatch', wakeup), {
    reason: 'signature_mismatch',
    message: 'signature mismatch',
    explained: { canonicalRequest: wakeup.canonicalRequest, stringToSign: stringToSign(wakeup) },
  });
});
