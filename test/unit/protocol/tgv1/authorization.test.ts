import assert from 'node:assert/strict';
import { test } from 'node:test';
import { authorizationScheme, parseAuthorization } from '../../../../src/protocol/tgv1/authorization.ts';

const signature = '557a51d1fffdcc50eec601c301c3428016fc6e76f672748f2545f2c3fc8be981';
const right = `TGV1-HMAC-SHA256 Credential=AK1/20261127/tgv1_request, SignedHeaders=a;b, Signature=${signature}`;

test('an Authorization header is taken apart into its four parts', () => {
  assert.deepEqual(parseAuthorization(right), {
    accessKeyId: 'AK1',
    scopeDay: '20261127',
    signedHeaders: 'a;b',
    signature,
  });
});

test('a signature in upper case has the form, so that it is a mismatch and not malformed', () => {
  const upper = right.replace(signature, signature.toUpperCase());

  assert.equal(parseAuthorization(upper)?.signature, signature.toUpperCase());
});

const malformed = [
  ['nothing after the scheme', 'TGV1-HMAC-SHA256'],
  ['two spaces after the scheme', right.replace(' ', '  ')],
  ['another word for the credential', right.replace('Credential', 'credential')],
  ['an empty access key id', right.replace('AK1', '')],
  ['an access key id with a space', right.replace('AK1', 'AK 1')],
  ['an access key id with a comma', right.replace('AK1', 'AK,1')],
  ['an access key id beyond ASCII', right.replace('AK1', 'AKé')],
  ['an access key id of 129 characters', right.replace('AK1', 'A'.repeat(129))],
  ['a scope day of seven digits', right.replace('20261127', '2026112')],
  ['a scope day of nine digits', right.replace('20261127', '202611270')],
  ['a scope day with a letter', right.replace('20261127', '2026112x')],
  ['another end of the scope', right.replace('tgv1_request', 'tgv2_request')],
  ['no space after a comma', right.replace(', Signed', ',Signed')],
  [
    'the parts in another order',
    right.replace(/SignedHeaders=a;b, (Signature=\w+)/, '$1, SignedHeaders=a;b'),
  ],
  ['a signature of 63 digits', right.slice(0, -1)],
  ['a signature of 65 digits', `${right}0`],
  ['a signature with a letter beyond f', `${right.slice(0, -1)}g`],
  ['no signature', right.replace(/, Signature=.*/, '')],
  ['something after the signature', `${right} `],
  ['something before the scheme', ` ${right}`],
  ['a header of more than 4096 characters', right.replace('a;b', 'a'.repeat(4096))],
  ['words that overlap', `TGV1-HMAC-SHA256 Credential=AK1/${signature}`],
] as const;

for (const [what, header] of malformed) {
  test(`an Authorization header with ${what} is malformed`, () => {
    assert.equal(parseAuthorization(header), null);
  });
}

test('an access key id of 128 characters is taken', () => {
  assert.equal(parseAuthorization(right.replace('AK1', 'A'.repeat(128)))?.accessKeyId, 'A'.repeat(128));
});

test('the scheme is the first word, whatever follows', () => {
  assert.equal(authorizationScheme(right), 'TGV1-HMAC-SHA256');
  assert.equal(authorizationScheme('Bearer token'), 'Bearer');
  assert.equal(authorizationScheme('Basic'), 'Basic');
});
