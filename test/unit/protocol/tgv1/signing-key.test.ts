import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deriveSigningKey, SigningKeyCache } from '../../../../src/protocol/tgv1/signing-key.ts';
import { credentialOf, demoCredential } from '../../../support/signed-requests.ts';

const day = '20261120';
const path = '/v1/device/wakeup-request';

test('a kept key is the derived one, and the same one the second time', () => {
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

test('purging a credential forgets its keys and no other, also not of an id that begins like it', () => {
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

test('purging all forgets all', () => {
  const keys = new SigningKeyCache();
  keys.get(demoCredential, day, path);

  keys.purgeAll();

  assert.equal(keys.size, 0);
});

test('the keys are bounded: the one unused for longest goes first', () => {
  const keys = new SigningKeyCache(2);
  const first = keys.get(demoCredential, day, '/1');
  keys.get(demoCredential, day, '/2');
  assert.equal(keys.get(demoCredential, day, '/1'), first);
  keys.get(demoCredential, day, '/3');

  assert.equal(keys.size, 2);
  assert.equal(keys.get(demoCredential, day, '/1'), first);
});
