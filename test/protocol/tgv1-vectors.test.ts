/** The twelve vectors of the scheme, made by an independent signer: every intermediate value, both ways. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { checkRequest } from '../../src/protocol/tgv1/check-request.ts';
import { explainSigning } from '../../src/protocol/tgv1/sign-request.ts';
import type { HeaderSet } from '../../src/protocol/tgv1/signing-headers.ts';
import { SigningKeyCache, stringToSign, verifySignature } from '../../src/protocol/tgv1/signature.ts';
import { credentialOf, received } from '../support/signed-requests.ts';
import { checkout } from '../support/checkout.ts';

interface Vector {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly raw_query: string;
  readonly body: string;
  readonly header_set: HeaderSet;
  readonly canonical_request: string;
  readonly string_to_sign: string;
  readonly signing_key_hex: string;
  readonly signature: string;
  readonly headers: Record<string, string>;
}

interface VectorFile {
  readonly credential: { access_key_id: string; secret_key: string; app_id: string };
  readonly signed_at: string;
  readonly vectors: readonly Vector[];
}

const file: VectorFile = JSON.parse(
  readFileSync(new URL('test/protocol/tgv1-vectors.json', checkout), 'utf8'),
);
const signedAtMs = Date.parse(file.signed_at);
const credential = credentialOf({
  accessKeyId: file.credential.access_key_id,
  secretKey: file.credential.secret_key,
  appId: file.credential.app_id,
});

function bodyOf(vector: Vector): Uint8Array | null {
  return vector.body === '' ? null : Buffer.from(vector.body);
}

test('there are twelve vectors', () => {
  assert.equal(file.vectors.length, 12);
});

for (const vector of file.vectors) {
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
      nowMs: signedAtMs,
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
