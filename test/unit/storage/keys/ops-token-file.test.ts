import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fail } from '../../../../src/lib/result.ts';
import { opsTokensMax } from '../../../../src/model/limits.ts';
import { OpsTokenFile } from '../../../../src/storage/keys/ops-token-file.ts';
import { StoreOpenError } from '../../../../src/storage/lmdb/store-format.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';

function scene(t: Ending) {
  const directory = temporaryDirectory(t);
  return { file: new OpsTokenFile(directory), path: join(directory, 'ops-tokens.json') };
}

const nowS = 1_800_000_000;
const alice = { name: 'alice', role: 'operator' } as const;

test('a token is returned once and stored as its hash, in a file for its owner alone', async (t) => {
  const { file, path } = scene(t);
  assert.deepEqual([await file.read(), existsSync(path)], [[], false]);
  const made = await file.create(alice, nowS);
  assert.ok(made.ok);
  const { token, tokens } = made.value;
  assert.match(token, /^[\w-]{43}$/);
  const sha256 = createHash('sha256').update(token).digest('hex');
  assert.deepEqual(tokens, [{ ...alice, sha256, createdAtS: nowS, lastUsedAtS: null }]);
  assert.deepEqual(await file.read(), tokens);
  assert.equal(readFileSync(path, 'utf8').includes(token), false);
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test('a name is unique, not reserved, and free again after a revocation', async (t) => {
  const { file } = scene(t);
  assert.ok((await file.create(alice, nowS)).ok);
  assert.deepEqual(await file.create({ ...alice, role: 'viewer' }, nowS), fail('exists'));
  for (const name of ['', 'local', 'cli', 'signal', 'start', 'a b', '-a', 'x'.repeat(65), 'a\n'])
    assert.deepEqual(await file.create({ ...alice, name }, nowS), fail('name'), name);
  assert.equal(await file.revoke('bob'), null);
  assert.deepEqual(await file.revoke('alice'), []);
  assert.ok((await file.create(alice, nowS)).ok);
});

test('the number of tokens is bounded', async (t) => {
  const { file, path } = scene(t);
  const tokens = Array.from({ length: opsTokensMax }, (_, i) => {
    return { name: `t${i}`, role: 'viewer', sha256: 'a'.repeat(64) };
  });
  writeFileSync(path, JSON.stringify({ tokens }));
  assert.deepEqual(await file.create(alice, nowS), fail('full'));
  writeFileSync(path, JSON.stringify({ tokens: [...tokens, { ...tokens[0], name: 'more' }] }));
  await assert.rejects(file.read(), /tokens must be a list of at most 64 tokens/);
});

test('uses are recorded by hash, and a change restores the file mode', async (t) => {
  const { file, path } = scene(t);
  const made = await file.create(alice, nowS);
  assert.ok(made.ok);
  chmodSync(path, 0o644);
  const [stored] = made.value.tokens;
  const noted = await file.recordUses(new Map([[stored?.sha256 ?? '', nowS + 60]]));
  assert.equal(noted[0]?.lastUsedAtS, nowS + 60);
  assert.deepEqual(await file.read(), noted);
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

const sha256 = 'b'.repeat(64);
const faults: readonly (readonly [what: string, content: unknown, fault: RegExp])[] = [
  ['no JSON', '{', /must be a JSON object/],
  ['another field', { tokens: [], token: 1 }, /token is not a field/],
  ['no list', {}, /tokens must be a list/],
  ['no object in it', { tokens: [1] }, /tokens\[0\] must be an object/],
  [
    'a bad role',
    { tokens: [{ ...alice, role: 'root', sha256 }] },
    /tokens\[0\]\.role must be viewer or operator/,
  ],
  ['a bad hash', { tokens: [{ ...alice, sha256: 'xyzzy' }] }, /tokens\[0\]\.sha256 must be 64 digits of hex/],
  ['a reserved name', { tokens: [{ ...alice, name: 'local', sha256 }] }, /tokens\[0\]\.name must be/],
  [
    'one name twice',
    {
      tokens: [
        { ...alice, sha256 },
        { ...alice, sha256 },
      ],
    },
    /tokens\[1\]\.name is that of another token/,
  ],
  ['a moment that is text', { tokens: [{ ...alice, sha256, last_used_at: 'now' }] }, /last_used_at must be/],
];

for (const [what, content, fault] of faults)
  test(`a file with ${what} is reported with its fault, and is never changed`, async (t) => {
    const { file, path } = scene(t);
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    writeFileSync(path, text);
    for (const act of [() => file.read(), () => file.create(alice, nowS), () => file.revoke('alice')])
      await assert.rejects(act, (error: unknown) => {
        assert.ok(error instanceof StoreOpenError);
        assert.match(error.message, fault);
        assert.doesNotMatch(error.message, /xyzzy/);
        return true;
      });
    assert.equal(readFileSync(path, 'utf8'), text);
  });
