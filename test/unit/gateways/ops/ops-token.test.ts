import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ensureOpsToken, findOpsToken } from '../../../../src/gateways/ops/ops-token.ts';

const root = mkdtempSync(join(tmpdir(), 'ops-token-'));
after(() => rmSync(root, { recursive: true }));

function emptyDirectory(): string {
  return mkdtempSync(join(root, 'd-'));
}

test('the first start creates a token of 32 random bytes that only its owner can read', () => {
  const directory = emptyDirectory();
  assert.equal(findOpsToken(directory), null);
  const token = ensureOpsToken(directory);
  assert.equal(Buffer.from(token, 'base64url').length, 32);
  assert.equal(statSync(join(directory, 'ops.token')).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(directory), ['ops.token']);
});

test('later starts and the command line read the same token', () => {
  const directory = emptyDirectory();
  const token = ensureOpsToken(directory);
  assert.equal(ensureOpsToken(directory), token);
  assert.equal(findOpsToken(directory), token);
  assert.notEqual(ensureOpsToken(emptyDirectory()), token);
});

test('a file without a valid token is named, and never used', () => {
  const directory = emptyDirectory();
  for (const text of ['', 'short', 'x'.repeat(44)]) {
    writeFileSync(join(directory, 'ops.token'), text);
    assert.throws(() => ensureOpsToken(directory), /ops\.token contains no token/);
  }
});

test('a directory that cannot be written is an error', () => {
  assert.throws(() => ensureOpsToken(join(root, 'nowhere')), /ENOENT/);
});
