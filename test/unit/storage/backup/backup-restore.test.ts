import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  restoreBackup,
  type RestoreDeps,
  verifyBackup,
} from '../../../../src/storage/backup/backup-restore.ts';
import { StoredEvents } from '../../../../src/storage/events/stored-events.ts';
import { ServerLock } from '../../../../src/storage/lmdb/data-directory.ts';
import { openStore, type Store } from '../../../../src/storage/lmdb/open-store.ts';
import { storeFormat, StoreOpenError } from '../../../../src/storage/lmdb/store-format.ts';
import { RegistryStore } from '../../../../src/storage/registry/registry-store.ts';
import { backupOf, filesBeside, filledStore, inPieces, withManifest } from '../../../support/backup-scene.ts';
import { closedAfter, temporaryDirectory } from '../../../support/temporary-store.ts';

/** Maximum path length of Linux. */
const pathBytesMax = 4096;
const named: RestoreDeps = { name: 'the backup', bytes: null };

function restore(bytes: Buffer, directory: string, deps: Partial<RestoreDeps> = {}): Promise<unknown> {
  return restoreBackup(inPieces(bytes, 500), directory, { ...named, ...deps });
}

function saying(sentence: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof StoreOpenError && sentence.test(error.message);
}

function contentOf({ registry, state }: Store): object {
  const events = new StoredEvents(state).read(0, 100, 100);
  return { counts: new RegistryStore(registry).counts(), device: registry.find('device', 'DOOR-2'), events };
}

test('a restored directory has the rows and files of the original, accessible to its owner alone', async (t) => {
  const store = await filledStore(t);
  const directory = join(temporaryDirectory(t), 'restored');
  await restore(await backupOf(store.directory), directory);
  const made = ['audit.log', 'audit.log.1', 'ops.token', 'registry.mdb', 'state.mdb', 'token-keys.json'];
  assert.deepEqual(readdirSync(directory).toSorted(), made);
  assert.equal(statSync(directory).mode & 0o777, 0o700);
  for (const name of made) assert.equal(statSync(join(directory, name)).mode & 0o777, 0o600, name);
  for (const [name, text] of Object.entries(filesBeside))
    assert.equal(readFileSync(join(directory, name), 'utf8'), text);
  const restored = closedAfter(t, openStore(directory));
  assert.deepEqual(contentOf(restored), contentOf(store));
});

test('a restored directory yields the same backup', async (t) => {
  const bytes = await backupOf((await filledStore(t)).directory);
  const directory = join(temporaryDirectory(t), 'restored');
  await restore(bytes, directory);
  assert.deepEqual(await backupOf(directory), bytes);
});

test('a restore accepts an empty directory, also that of a new volume', async (t) => {
  const bytes = await backupOf((await filledStore(t)).directory);
  const directory = temporaryDirectory(t);
  mkdirSync(join(directory, 'lost+found'));
  await restore(bytes, directory);
  await openStore(directory).close();
});

test('a directory that is not empty is refused and unchanged', async (t) => {
  const bytes = await backupOf((await filledStore(t)).directory);
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'registry.mdb'), 'somebody needs it');
  await assert.rejects(restore(bytes, directory), saying(/is not empty \(registry\.mdb\): move it away/));
  assert.deepEqual(readdirSync(directory), ['registry.mdb']);
});

test('the directory of a running server is refused with its process id', async (t) => {
  const store = await filledStore(t);
  const bytes = await backupOf(store.directory);
  await assert.rejects(
    restore(bytes, store.directory),
    saying(new RegExp(`a server runs on .* \\(process ${process.pid}\\)`)),
  );
  const empty = temporaryDirectory(t);
  const lock = new ServerLock(empty);
  await assert.rejects(restore(bytes, empty), saying(/a server runs on/));
  lock.release();
});

test('a full disk is reported before any file is created', async (t) => {
  const bytes = await backupOf((await filledStore(t)).directory);
  const directory = join(temporaryDirectory(t), 'restored');
  const room = { bytes: bytes.length, freeBytes: () => bytes.length };
  await assert.rejects(restore(bytes, directory, room), saying(/the store takes up to \d+ bytes/));
  assert.ok(!existsSync(directory));
});

test('a damaged backup leaves no new directory, and an existing one empty', async (t) => {
  const bytes = await backupOf((await filledStore(t)).directory);
  bytes[bytes.length - 40] = Number(bytes[bytes.length - 40]) ^ 1;
  const empty = temporaryDirectory(t);
  const none = join(empty, 'none');
  await assert.rejects(restore(bytes, none), saying(/is damaged \(its checksum does not match\)/));
  assert.ok(!existsSync(none));
  await assert.rejects(restore(bytes, empty), saying(/is damaged/));
  assert.deepEqual(readdirSync(empty), []);
});

test('a failed restore removes the directories that it created, even if it cannot lock the last one', async (t) => {
  const bytes = await backupOf((await filledStore(t)).directory);
  const parent = temporaryDirectory(t);
  const room = { bytes: bytes.length, freeBytes: () => bytes.length };
  await assert.rejects(restore(bytes, join(parent, 'made', 'too'), room), saying(/the store takes up to/));
  assert.deepEqual(readdirSync(parent), []);
  // Its own path fits, that of a file in it does not.
  const names = Array.from({ length: 100 }, () => 'd'.repeat(99));
  const longest = join(parent, ...names).slice(0, pathBytesMax - 4);
  await assert.rejects(restore(bytes, longest), saying(/ENAMETOOLONG/));
  assert.deepEqual(readdirSync(parent), []);
});

test('a cancelled restore leaves nothing', async (t) => {
  const bytes = await backupOf((await filledStore(t)).directory);
  const directory = join(temporaryDirectory(t), 'restored');
  const cancelling = new AbortController();
  const onProgress = (): void => cancelling.abort(new Error('enough'));
  await assert.rejects(restore(bytes, directory, { signal: cancelling.signal, onProgress }), /enough/);
  assert.ok(!existsSync(directory));
});

test('a store with an unfinished restore cannot be opened, and the restore can be repeated', async (t) => {
  const bytes = await backupOf((await filledStore(t)).directory);
  const directory = temporaryDirectory(t);
  await restore(bytes, directory);
  mkdirSync(join(directory, 'restore.unfinished'));
  assert.throws(() => openStore(directory), saying(/a restore into .* was not finished: run it again/));
  await restore(bytes, directory);
  await openStore(directory).close();
});

test('a repeated restore removes only files that a restore creates', async (t) => {
  const bytes = await backupOf((await filledStore(t)).directory);
  const directory = temporaryDirectory(t);
  mkdirSync(join(directory, 'restore.unfinished'));
  writeFileSync(join(directory, 'notes.txt'), 'of somebody');
  await assert.rejects(restore(bytes, directory), saying(/is not empty \(notes\.txt\)/));
  assert.deepEqual(readdirSync(directory).toSorted(), ['notes.txt', 'restore.unfinished']);
});

test('restore and verification refuse a backup of another store format before they create a file', async (t) => {
  const bytes = await backupOf((await filledStore(t)).directory);
  const place = temporaryDirectory(t);
  const other = withManifest(bytes, (manifest) => ({ ...manifest, store_format: storeFormat + 1 }));
  const refused = saying(
    /^the store in the backup has format \d+ and this release reads format \d+: run the/,
  );
  await assert.rejects(restore(other, join(place, 'restored')), refused);
  await assert.rejects(verifyBackup(inPieces(other), join(place, 'store.backup'), named), refused);
  assert.deepEqual(readdirSync(place), []);
});

test('a backup with a missing row is refused, though its checksum is right', async (t) => {
  const bytes = await backupOf((await filledStore(t)).directory);
  const directory = join(temporaryDirectory(t), 'restored');
  const counted = withManifest(bytes, (manifest) => ({
    ...manifest,
    tables: manifest.tables.map((table) =>
      table.name === 'devices' ? { ...table, rows: table.rows + 1 } : table,
    ),
  }));
  await assert.rejects(restore(counted, directory), StoreOpenError);
  assert.ok(!existsSync(directory));
});

test('a verification reads through the backup, and leaves no file', async (t) => {
  const bytes = await backupOf((await filledStore(t)).directory);
  const directory = temporaryDirectory(t);
  const path = join(directory, 'store.backup');
  const { tables } = await verifyBackup(inPieces(bytes), path, named);
  assert.ok(tables.length > 10);
  assert.deepEqual(readdirSync(directory), []);
  const room = { ...named, bytes: bytes.length, freeBytes: () => 10 };
  await assert.rejects(verifyBackup(inPieces(bytes), path, room), saying(/name another place/));
  bytes[500] = Number(bytes[500]) ^ 1;
  await assert.rejects(verifyBackup(inPieces(bytes), path, named), StoreOpenError);
  assert.deepEqual(readdirSync(directory), []);
});
