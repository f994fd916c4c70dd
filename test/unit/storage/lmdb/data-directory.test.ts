import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { prepareDataDirectory } from '../../../../src/storage/lmdb/data-directory.ts';
import { StoreOpenError } from '../../../../src/storage/lmdb/store-format.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

test('a new data directory is created with its parents, with mode 0700', (t) => {
  const made = join(temporaryDirectory(t), 'deep');
  const path = join(made, 'data');
  assert.deepEqual(prepareDataDirectory(path), { directory: path, made, modeBefore: null });
  assert.equal(modeOf(path), 0o700);
});

test('a data directory that is open to others is closed, and its former mode returned', (t) => {
  const path = join(temporaryDirectory(t), 'data');
  mkdirSync(path);
  chmodSync(path, 0o755);
  assert.deepEqual(prepareDataDirectory(path), { directory: path, made: null, modeBefore: 0o755 });
  assert.equal(modeOf(path), 0o700);
});

test('a shared directory is refused, not closed', (t) => {
  const path = join(temporaryDirectory(t), 'shared');
  mkdirSync(path);
  chmodSync(path, 0o1777);
  assert.throws(() => prepareDataDirectory(path), StoreOpenError);
  assert.equal(modeOf(path), 0o777);
});

test('a file in place of a data directory is refused by name', (t) => {
  const path = join(temporaryDirectory(t), 'data');
  writeFileSync(path, '');
  assert.throws(
    () => prepareDataDirectory(path),
    (error) => error instanceof StoreOpenError && error.message.includes(path),
  );
});
