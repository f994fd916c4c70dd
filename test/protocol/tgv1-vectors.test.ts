/** The twelve vectors of the scheme, made by an independent signer: every intermediate value, for signing and checking. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkRequest } from '../../src/protocol/tgv1/check-request.ts';
import { explainSigning } from '../../src/protocol/tgv1/sign-request.ts';
import { SigningKeyCache, stringToSign, verifySignature } from '../../src/protocol/tgv1/signature.ts';
import { credentialOf, received } from '../support/signed-requests.ts';
import { signingVectors, type SigningVector } from '../support/signing-vectors.ts';

const { credential: signer, vectors } = signingVectors;
const signedAtMs = Date.parse(signingVectors.signed_at);
const credential = credentialOf({
  accessKeyId: signer.access_key_id,
  secretKey: signer.secret_key,
  appId: signer.app_id,
});

function bodyOf(vector: SigningVector): Uint8Array | null {
  return vector.body === '' ? null : Buffer.from(vector.body);
}

test('there are twelve vectors', () => {
  assert.equal(vectors.length, 12);
});

for (const vector of vectors) {
  test(`signing "${vector.name}" computes every value of the vector`, () => {
    const steps = explainSigning({
      credential,
      method: vector.method,
      path: vector.path,
      rawQuery: vector.raw_query,
      body: bodyOf(vector),
      headerSet: vector.header_set,
      atMs: signedAtMs,
    });

    assert.equal(steps.canonicalRequest, vector.canonical_request);
    assert.equal(steps.stringToSign, vector.string_to_sign);
    assert.equal(steps.signingKeyHex, vector.signing_key_hex);
    assert.equal(steps.signature, vector.signature);
    assert.deepEqual(steps.headers, vector.headers);
  });

  test(`a request with the headers of "${vector.name}" is checked to the same values and is valid`, () => {
    const request = received(
      vector.method,
      `${vector.path}?${vector.raw_query}`,
      vector.headers,
      bodyOf(vector),
    );
    const checked = checkRequest(request, {
      findCredential: (id) => (id === credential.accessKeyId ? credential : null),
      signingKeys: new SigningKeyCache(),
      windowMs: 300_000,
      wallMs: () => signedAtMs,
    });

    assert.ok(checked.ok);
    const { job, dateMs } = checked.value;
    assert.equal(dateMs, signedAtMs);
    assert.equal(job.canonicalRequest, vector.canonical_request);
    assert.equal(stringToSign(job), vector.string_to_sign);
    assert.equal(Buffer.from(job.signingKey).toString('hex'), vector.signing_key_hex);
    assert.equal(verifySignature(job), 'valid');
  });
}
