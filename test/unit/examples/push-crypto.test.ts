/** The secure mode of pushes, against the example that the platform's own page prints and against openssl. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createCipheriv } from 'node:crypto';
import { test } from 'node:test';
import { PushCipher } from '../../../docs/examples/backend/push-crypto.ts';
import { aesKey, encryptPush, plainPush, signPush } from '../../support/simulated-messaging-app.ts';

/** Token, key, app and everything below as the page on message pushes has them. */
const published = {
  token: 'AAAAA',
  encodingAesKey: 'A'.repeat(43),
  appId: 'wxba5fad812f8e6fb9',
  timestamp: '1714112445',
  nonce: '415670741',
  random: 'a8eedb185eb2fecf',
  encrypted:
    '+qdx1OKCy+5JPCBFWw70tm0fJGb2Jmeia4FCB7kao+/Q5c/ohsOzQHi8khUOb05JCpj0JB4RvQMkUyus8TPxLKJGQqcvZqzDpVzazhZv6JsX' +
    'UnnR8XGT740XgXZUXQ7vJVnAG+tE8NUd4yFyjPy7GgiaviNrlCTj+l5kdfMuFUPpRSrfMZuMcp3Fn2Pede2IuQrKEYwKSqFIZoNqJ4M8EajA' +
    'sjLY2km32IIjdf8YL/P50F7mStwntrA2cPDrM1kb6mOcfBgRtWygb3VIYnSeOBrebufAlr7F9mFUPAJGj04=',
  signature: '046e02f8204d34f8ba5fa3b1db94908f3df2e9b3',
  message:
    '{"ToUserName":"gh_97417a04a28d","FromUserName":"o9AgO5Kd5ggOC-bXrbNODIiE3bGY","CreateTime":1714112445,' +
    '"MsgType":"event","Event":"debug_demo","debug_str":"hello world"}',
};

const secrets = {
  token: 'a token',
  encodingAesKey: 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG',
  appId: 'miniprogram1',
};
const key = aesKey(secrets.encodingAesKey);
const random = Buffer.from('sixteen bytes ok');
const cipher = new PushCipher(secrets);

test('the published push is signed, and says what the page says', () => {
  const { timestamp, nonce, encrypted, signature, message } = published;
  const theirs = new PushCipher(published);
  assert.equal(theirs.isSigned(signature, timestamp, nonce, encrypted), true);
  assert.equal(theirs.decrypt(encrypted), message);
});

test('the published address check is signed', () => {
  const theirs = new PushCipher(published);
  assert.equal(theirs.isSigned('f464b24fc39322e44b38aa78f5edd27bd1441696', '1714036504', '1514711492'), true);
});

test('the simulated messaging app encrypts and signs the published push', () => {
  const { token, encodingAesKey, appId, timestamp, nonce } = published;
  const encrypted = encryptPush(
    aesKey(encodingAesKey),
    Buffer.from(published.random),
    published.message,
    appId,
  );
  assert.equal(encrypted, published.encrypted);
  assert.equal(signPush(token, timestamp, nonce, encrypted), published.signature);
});

const absent = spawnSync('openssl', ['version']).status !== 0;

test(
  'openssl encrypts as the simulated app does',
  { skip: absent && 'no openssl command on this machine' },
  () => {
    const hex = key.toString('hex');
    const args = ['enc', '-aes-256-cbc', '-nopad', '-K', hex, '-iv', hex.slice(0, 32), '-base64', '-A'];
    const input = plainPush(random, 'a message of é', secrets.appId);
    const { status, stdout, stderr } = spawnSync('openssl', args, { input });
    assert.equal(status, 0, stderr.toString());
    assert.equal(stdout.toString(), encryptPush(key, random, 'a message of é', secrets.appId));
  },
);

for (const length of [0, 1, 3, 4, 31, 32, 33, 4096])
  test(`a message of ${length} bytes comes back as it was`, () => {
    const message = 'm'.repeat(length);
    assert.equal(cipher.decrypt(encryptPush(key, random, message, secrets.appId)), message);
  });

test('a signature is of the token, the parts and nothing else', () => {
  const good = signPush(secrets.token, '1714112445', 'n', 'encrypted');
  assert.equal(cipher.isSigned(good, '1714112445', 'n', 'encrypted'), true);
  assert.equal(cipher.isSigned(good.toUpperCase(), '1714112445', 'n', 'encrypted'), true);
  const another = signPush('another token', '1714112445', 'n', 'encrypted');
  for (const bad of [another, good.slice(0, -2), `${good}00`, `zz${good.slice(2)}`, '', 'é'])
    assert.equal(cipher.isSigned(bad, '1714112445', 'n', 'encrypted'), false, bad);
  assert.equal(cipher.isSigned(good, '1714112446', 'n', 'encrypted'), false);
  assert.equal(cipher.isSigned(good, '1714112445', 'n', 'encrypted2'), false);
});

test('a message of another app, or under another key, is none', () => {
  assert.equal(cipher.decrypt(encryptPush(key, random, 'm', 'miniprogram2')), null);
  assert.equal(cipher.decrypt(encryptPush(key, random, 'm', '')), null);
  assert.equal(cipher.decrypt(encryptPush(aesKey('B'.repeat(43)), random, 'm', secrets.appId)), null);
});

function encryptRaw(plain: Buffer): string {
  const aes = createCipheriv('aes-256-cbc', key, key.subarray(0, 16)).setAutoPadding(false);
  return Buffer.concat([aes.update(plain), aes.final()]).toString('base64');
}

function spoilt(spoil: (plain: Buffer) => void): string {
  const plain = plainPush(random, 'a message', secrets.appId);
  spoil(plain);
  return encryptRaw(plain);
}

const broken: Readonly<Record<string, string>> = {
  nothing: '',
  'no Base64': '!!!!',
  'a block that is cut': Buffer.alloc(48).toString('base64'),
  'padding of 0': spoilt((plain) => (plain[plain.length - 1] = 0)),
  'padding of 33': spoilt((plain) => (plain[plain.length - 1] = 33)),
  'padding that is uneven': spoilt((plain) => (plain[plain.length - 2] = 0)),
  'a length beyond the end': spoilt((plain) => plain.writeUInt32BE(0xffffffff, 16)),
  'a length that takes in the app id': spoilt((plain) => plain.writeUInt32BE(10, 16)),
  'less than a length': encryptRaw(Buffer.alloc(32, 20)),
  'no UTF-8': spoilt((plain) => plain.fill(0xff, 20, 21)),
};

for (const [what, encrypted] of Object.entries(broken))
  test(`what is encrypted is refused when it is ${what}`, () =>
    assert.equal(cipher.decrypt(encrypted), null));

test('a key of another length is refused when the backend starts, without being named', () => {
  for (const encodingAesKey of ['', 'A'.repeat(42), 'A'.repeat(44), `${'A'.repeat(42)}-`])
    assert.throws(
      () => new PushCipher({ ...secrets, encodingAesKey }),
      /^Error: an EncodingAESKey has 43 characters$/,
    );
});
