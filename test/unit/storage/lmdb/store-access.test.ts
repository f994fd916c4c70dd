import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFoundStore, openStore, openStoreAtRest } from '../../../../src/storage/lmdb/open-store.ts';
import { accessError, hasStore } from '../../../../src/storage/lmdb/store-access.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

const nobody = 65_534;

/** Runs `act` as nobody if the user is root, who may read everything. */
function withoutRights(act: () => void): void {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(nobody);
  try {
    act();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

test('a directory without permission is not reported as one without a store', async (t) => {
  if (process.platform === 'win32') return t.skip('of modes');
  const directory = join(temporaryDirectory(t), 'data');
  await openStore(directory).close();
  if (process.geteuid?.() !== 0) chmodSync(directory, 0);
  withoutRights(() => {
    const denied = /^permission denied: user .* may not read .*registry\.mdb: run as its owner$/;
    for (const look of [hasStore, openFoundStore, openStoreAtRest])
      assert.throws(() => look(directory), { name: 'StoreOpenError', message: denied });
  });
  chmodSync(directory, 0o700);
  assert.equal(hasStore(directory), true);
});

test('a read-only disk is not reported as a missing right, and another fault keeps its message', () => {
  const refused = (code: string): string =>
    accessError(Object.assign(new Error('said'), { code }), '/data', 'write').message;
  assert.match(refused('EROFS'), /^\/data is on a read-only file system: mount it writable again/);
  assert.match(refused('EIO'), /^\/data cannot be used: said: the disk is full \(df\), or fails/);
  assert.equal(refused('ENXIO'), '/data cannot be used: said');
});

test('a command creates no directory, and no store in a directory that was not made for it', async (t) => {
  const parent = temporaryDirectory(t);
  const [mistyped, other, own] = ['mistyped', 'other', 'own'].map((name) => join(parent, name));
  assert(mistyped !== undefined && other !== undefined && own !== undefined);
  assert.throws(() => openStoreAtRest(mistyped), { message: new RegExp(`^no store at ${mistyped}: start`) });
  assert.equal(existsSync(mistyped), false);
  mkdirSync(other, { mode: 0o755 });
  chmodSync(other, 0o755);
  if (process.platform !== 'win32') assert.throws(() => openStoreAtRest(other), /no store at/);
  assert.equal(existsSync(join(other, 'registry.mdb')), false);
  mkdirSync(own, { mode: 0o700 });
  await openStoreAtRest(own).close();
  assert.equal(hasStore(own), true);
});
