import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fail, succeed } from '../../../../src/lib/result.ts';
import { StoreOpenError } from '../../../../src/storage/lmdb/store-format.ts';
import { tokenKeyFileOf } from '../../../../src/storage/keys/token-key-file.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';

const nowS = 1_800_000_000;

function keyFile(path: string) {
  return tokenKeyFileOf({ calls: { token_keys_file: path }, data: { dir: '' } });
}

interface Scene {
  readonly directory: string;
  readonly path: string;
  readonly file: ReturnType<typeof keyFile>;
}

function scene(t: Ending): Scene {
  const directory = temporaryDirectory(t);
  const path = join(directory, 'token-keys.json');
  return { directory, path, file: keyFile(path) };
}

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

const secret = Buffer.alloc(32, 7).toString('base64url');
const first = { kid: 'a1', secret, created_at: 5 };
const second = { kid: 'b2', secret, created_at: 4 };

test('a missing file is created with one key, for its owner alone, and leaves no other file', async (t) => {
  const { directory, path, file } = scene(t);
  assert.equal(await file.find(), null);
  const { keys, openMode } = await file.ensure(nowS);
  const [key] = keys;
  assert.ok(key !== undefined);
  assert.equal(keys.length, 1);
  assert.match(key.kid, /^[0-9a-f]{8}$/);
  assert.equal(key.secret.byteLength, 32);
  assert.equal(key.createdAtS, nowS);
  assert.equal(openMode, null);
  assert.equal(modeOf(path), 0o600);
  assert.deepEqual(readdirSync(directory), ['token-keys.json']);
  assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')), {
    keys: [{ kid: key.kid, secret: Buffer.from(key.secret).toString('base64url'), created_at: nowS }],
  });
});

test('an existing file stays unchanged, and every node with a copy has its keys', async (t) => {
  const { directory, path, file } = scene(t);
  const made = await file.ensure(nowS);
  const text = readFileSync(path, 'utf8');
  assert.deepEqual(await file.ensure(nowS + 1), made);
  assert.equal(readFileSync(path, 'utf8'), text);
  const copy = join(directory, 'copy.json');
  writeFileSync(copy, text, { mode: 0o600 });
  assert.deepEqual(await keyFile(copy).find(), made);
});

test('concurrent starts agree on one key', async (t) => {
  const { directory, path } = scene(t);
  const made = await Promise.all(Array.from({ length: 8 }, () => keyFile(path).ensure(nowS)));
  for (const each of made) assert.deepEqual(each, made[0]);
  assert.deepEqual(readdirSync(directory), ['token-keys.json']);
});

test('a rotation adds a new first key, keeps the former one, and drops older ones', async (t) => {
  const { path, file } = scene(t);
  const [original] = (await file.ensure(nowS)).keys;
  const once = await file.rotate(nowS + 10);
  assert.deepEqual(once.keys[1], original);
  assert.equal(once.keys[0]?.createdAtS, nowS + 10);
  assert.notEqual(once.keys[0]?.kid, original?.kid);
  assert.notDeepEqual(once.keys[0]?.secret, original?.secret);
  assert.deepEqual(once.dropped, []);
  const twice = await file.rotate(nowS + 20);
  assert.deepEqual([twice.keys[1], twice.dropped], [once.keys[0], [original]]);
  assert.deepEqual((await keyFile(path).find())?.keys, twice.keys);
  assert.equal(twice.keys.length, 2);
});

test('a rotation creates a missing file', async (t) => {
  const { file } = scene(t);
  const { keys, dropped } = await file.rotate(nowS);
  assert.deepEqual([keys.length, dropped], [1, []]);
  assert.deepEqual((await file.find())?.keys, keys);
});

test('any key can be retired, except the last one', async (t) => {
  for (const which of [0, 1]) {
    const { path, file } = scene(t);
    await file.ensure(nowS);
    const { keys } = await file.rotate(nowS);
    const [retired, left] = which === 0 ? keys : keys.toReversed();
    assert.ok(retired !== undefined && left !== undefined);
    assert.deepEqual(await file.retire('unknown'), fail('unknown'));
    assert.deepEqual(await file.retire(retired.kid), succeed([left]));
    assert.deepEqual(await file.retire(retired.kid), fail('unknown'));
    const text = readFileSync(path, 'utf8');
    assert.deepEqual(await file.retire(left.kid), fail('last'));
    assert.equal(readFileSync(path, 'utf8'), text);
  }
  assert.deepEqual(await scene(t).file.retire('a1'), fail('unknown'));
});

test('a file that others can read is reported, and closed by the next change', async (t) => {
  const { path, file } = scene(t);
  await file.ensure(nowS);
  for (const mode of [0o644, 0o640, 0o604, 0o620]) {
    chmodSync(path, mode);
    assert.equal((await file.find())?.openMode, mode);
  }
  await file.rotate(nowS);
  assert.equal(modeOf(path), 0o600);
  assert.equal((await file.find())?.openMode, null);
});

test('a key made by hand needs no creation time', async (t) => {
  const { path, file } = scene(t);
  writeFileSync(path, JSON.stringify({ keys: [{ kid: 'Key_1.by-hand', secret }] }), { mode: 0o600 });
  assert.deepEqual((await file.find())?.keys, [
    { kid: 'Key_1.by-hand', secret: Buffer.alloc(32, 7), createdAtS: null },
  ]);
  await file.rotate(nowS);
  assert.equal((await file.find())?.keys[1]?.createdAtS, null);
});

const faults: readonly (readonly [what: string, content: unknown, fault: RegExp])[] = [
  ['nothing', '', /must be a JSON object/],
  ['half of it', '{"keys":[{"kid"', /must be a JSON object/],
  ['a list', [first], /must be a JSON object/],
  ['no UTF-8', Buffer.from([0x7b, 0xff]), /not valid UTF-8/],
  ['no keys', {}, /keys must be a list of 1 to 2 keys/],
  ['an empty list', { keys: [] }, /keys must be a list of 1 to 2 keys/],
  ['too many keys', { keys: [first, second, { ...first, kid: 'c3' }] }, /keys must be a list of 1 to 2 keys/],
  ['keys by kid', { keys: { a1: secret } }, /keys must be a list/],
  ['something beside the keys', { keys: [first], key: 1 }, /key is not a field/],
  ['a key that is null', { keys: [null] }, /keys\[0\] must be an object/],
  ['a key that is a list', { keys: [first, [second]] }, /keys\[1\] must be an object/],
  ['no kid', { keys: [{ secret }] }, /keys\[0\]\.kid is missing/],
  ['an empty kid', { keys: [{ ...first, kid: '' }] }, /keys\[0\]\.kid must be 1-32 characters/],
  ['a long kid', { keys: [{ ...first, kid: 'k'.repeat(33) }] }, /keys\[0\]\.kid must be 1-32 characters/],
  ['a kid with a space', { keys: [{ ...first, kid: 'a 1' }] }, /keys\[0\]\.kid must be 1-32 characters/],
  ['one kid twice', { keys: [first, { ...second, kid: 'a1' }] }, /keys\[1\]\.kid is that of another key/],
  ['no secret', { keys: [{ kid: 'a1' }] }, /keys\[0\]\.secret is missing/],
  [
    'a secret in hex',
    { keys: [{ ...first, secret: 'ab'.repeat(32) }] },
    /secret must be the base64url of 32/,
  ],
  [
    'a short secret',
    { keys: [first, { ...second, secret: 'c2hvcnQ' }] },
    /keys\[1\]\.secret must be the base/,
  ],
  ['a padded secret', { keys: [{ ...first, secret: `${secret}=` }] }, /keys\[0\]\.secret must be the base/],
  ['a moment that is text', { keys: [{ ...first, created_at: '5' }] }, /keys\[0\]\.created_at must be whole/],
  ['a field too many', { keys: [{ ...first, secert: secret }] }, /keys\[0\]\.secert is not a field/],
];

for (const [what, content, fault] of faults)
  test(`a file with ${what} is reported with its fault, is never changed, and none of it is quoted`, async (t) => {
    const { path, file } = scene(t);
    const bytes = Buffer.isBuffer(content) || typeof content === 'string' ? content : JSON.stringify(content);
    writeFileSync(path, bytes, { mode: 0o600 });
    for (const act of [
      () => file.find(),
      () => file.ensure(nowS),
      () => file.rotate(nowS),
      () => file.retire('a1'),
    ])
      await assert.rejects(act, (error: unknown) => {
        assert.ok(error instanceof StoreOpenError);
        assert.ok(error.message.includes(path), error.message);
        assert.match(error.message, fault);
        assert.doesNotMatch(error.message, new RegExp(`${secret}|c2hvcnQ|${'ab'.repeat(32)}`));
        return true;
      });
    assert.deepEqual(readFileSync(path), Buffer.from(bytes));
  });

test('an unreadable file and a missing directory are reported by name', async (t) => {
  const { directory, path, file } = scene(t);
  mkdirSync(path);
  await assert.rejects(file.ensure(nowS), {
    name: 'StoreOpenError',
    message: /token-keys\.json cannot be read: /,
  });
  const nowhere = keyFile(join(directory, 'nowhere', 'keys.json'));
  await assert.rejects(nowhere.ensure(nowS), {
    name: 'StoreOpenError',
    message: /keys\.json cannot be written: /,
  });
  assert.deepEqual(readdirSync(directory), ['token-keys.json']);
});
