import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  canonicalPath,
  canonicalRequest,
  deriveSigningKey,
  SigningKeyCache,
  stringToSign,
  verifySignature,
  type SignatureJob,
} from '../../../../src/protocol/tgv1/signature.ts';
import { credentialOf, demoCredential, jobOf, signed } from '../../../support/signed-requests.ts';
import { verdictFailure } from '../../../../src/protocol/tgv1/auth-failure.ts';

const paths = [
  ['/v1/device/connectivity', '/v1/device/connectivity'],
  ['/v1/device/connectivity/', '/v1/device/connectivity'],
  ['/v1//', '/v1/'],
  ['/', '/'],
  ['//', '/'],
  ['', ''],
  ['  /v1/a/  ', '/v1/a'],
  ['/v1/a /', '/v1/a '],
  ['   ', ''],
  ['/v1/%2F', '/v1/%2F'],
  ['\t/v1', '\t/v1'],
] as const;

for (const [sent, canonical] of paths) {
  test(`the path ${JSON.stringify(sent)} is signed as ${JSON.stringify(canonical)}`, () => {
    assert.equal(canonicalPath(sent), canonical);
  });
}

const parts = {
  method: 'GET',
  path: '/a',
  query: '',
  signedHeaders: 'x-empty;x-tg-date',
  names: ['x-empty', 'x-tg-date'],
  headers: new Map([
    ['x-tg-date', '20261120T083000Z'],
    ['x-empty', ''],
  ]),
  bodySha256: 'hash',
};

test('the query of a method without a body is signed as sent, but for its pluses', () => {
  for (const [method, query, signed] of [
    ['GET', 'z=1&a=b+c+d&%2b=%20', 'z=1&a=b%20c%20d&%2b=%20'],
    ['DELETE', 'a=1', 'a=1'],
    ['POST', 'a=1', ''],
    ['PUT', 'a=1', ''],
    ['PATCH', 'a=1', ''],
  ] as const)
    assert.equal(canonicalRequest({ ...parts, method, query }).split('\n')[2], signed, method);
});

test('a canonical request has an empty line for no query and none after the headers', () => {
  const text = canonicalRequest(parts);

  assert.equal(text, 'GET\n/a\n\nx-empty:\nx-tg-date:20261120T083000Z\nx-empty;x-tg-date\nhash');
});

const day = '20261120';
const path = '/v1/device/wakeup-request';

test('a cached key is the derived one, and the same object the second time', () => {
  const keys = new SigningKeyCache();
  const first = keys.get(demoCredential, day, path);

  assert.deepEqual(first, deriveSigningKey(demoCredential.secretKey, day, path));
  assert.equal(keys.get(demoCredential, day, path), first);
  assert.equal(keys.size, 1);
});

test('keys differ by credential, day and path', () => {
  const keys = new SigningKeyCache();
  const other = credentialOf({ accessKeyId: 'AKother', secretKey: 'another secret', appId: '2818153' });
  const all = [
    keys.get(demoCredential, day, path),
    keys.get(demoCredential, '20261121', path),
    keys.get(demoCredential, day, '/v1/device/connectivity'),
    keys.get(other, day, path),
  ];

  assert.equal(new Set(all.map((key) => Buffer.from(key).toString('hex'))).size, 4);
});

test('a rotated secret has its own key at once, purged or not', () => {
  const keys = new SigningKeyCache();
  keys.get(demoCredential, day, path);
  const rotated = { ...demoCredential, secretKey: 'the next secret' };

  assert.deepEqual(keys.get(rotated, day, path), deriveSigningKey('the next secret', day, path));
  assert.equal(keys.size, 1);
});

test('purging a credential forgets only its keys, and none of an id with the same prefix', () => {
  const keys = new SigningKeyCache();
  const longer = {
    ...demoCredential,
    ...credentialOf({ ...demoCredential, accessKeyId: 'AKtest00000000000012' }),
  };
  keys.get(demoCredential, day, path);
  keys.get(demoCredential, day, '/other');
  const kept = keys.get(longer, day, path);

  keys.purge(demoCredential.accessKeyId);

  assert.equal(keys.size, 1);
  assert.equal(keys.get(longer, day, path), kept);
});

test('purging all forgets all keys', () => {
  const keys = new SigningKeyCache();
  keys.get(demoCredential, day, path);

  keys.purgeAll();

  assert.equal(keys.size, 0);
});

test('the keys are bounded: the least recently used one is dropped', () => {
  const keys = new SigningKeyCache(2);
  const first = keys.get(demoCredential, day, '/1');
  keys.get(demoCredential, day, '/2');
  assert.equal(keys.get(demoCredential, day, '/1'), first);
  keys.get(demoCredential, day, '/3');

  assert.equal(keys.size, 2);
  assert.equal(keys.get(demoCredential, day, '/1'), first);
});

const body = Buffer.from('{"device_id":"TESTDEVICE01"}');
const wakeup = jobOf(signed({ method: 'POST', path: '/v1/device/wakeup-request', rawQuery: '', body }));
const query = jobOf(signed());

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

test('a signature whose characters have the right low byte only is a mismatch', () => {
  const signature = wakeup.signature.replaceAll(/./g, (digit) =>
    String.fromCharCode(0x100 + digit.charCodeAt(0)),
  );

  assert.equal(verifySignature({ ...wakeup, signature }), 'signature-mismatch');
});

test("a signature mismatch includes the server's computation", () => {
  assert.deepEqual(verdictFailure('signature-mismatch', wakeup), {
    reason: 'signature_mismatch',
    message: 'signature mismatch',
    explained: { canonicalRequest: wakeup.canonicalRequest, stringToSign: stringToSign(wakeup) },
  });
});
