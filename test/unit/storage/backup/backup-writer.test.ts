import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { writeBackupFile, type BackupDeps } from '../../../../src/storage/backup/backup-writer.ts';
import { StoreMoment } from '../../../../src/storage/backup/store-moment.ts';
import { CommitOrder } from '../../../../src/storage/lmdb/commit-order.ts';
import { StoreOpenError } from '../../../../src/storage/lmdb/store-format.ts';
import { filledStore, inPieces, readBackup } from '../../../support/backup-scene.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';
import { draftOf, openJournal } from '../../../support/test-journal.ts';

const deps: BackupDeps = { nowMs: 0 };

function saying(sentence: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof StoreOpenError && sentence.test(error.message);
}

test('a backup is a file of its owner alone, in place of an older one, with nothing beside it', async (t) => {
  const { directory } = await filledStore(t);
  const folder = temporaryDirectory(t);
  const file = join(folder, 'store.backup');
  const first = await writeBackupFile(directory, file, deps);
  assert.equal(first.bytes, statSync(file).size);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const second = await writeBackupFile(directory, file, { nowMs: 1 });
  assert.notEqual(first.sha256, second.sha256);
  assert.equal((await readBackup(inPieces(readFileSync(file)))).manifest.at, '1970-01-01T00:00:00.001Z');
  assert.deepEqual(readdirSync(folder), ['store.backup']);
});

test('a file that is no backup is not replaced', async (t) => {
  const { directory } = await filledStore(t);
  const file = join(temporaryDirectory(t), 'thesis.txt');
  writeFileSync(file, 'years of work');
  await assert.rejects(writeBackupFile(directory, file, deps), saying(/is there and is no backup/));
  assert.equal(readFileSync(file, 'utf8'), 'years of work');
});

test('a disk without room is told before anything is written', async (t) => {
  const { directory } = await filledStore(t);
  const folder = temporaryDirectory(t);
  const full = { ...deps, freeBytes: () => 1000 };
  await assert.rejects(
    writeBackupFile(directory, join(folder, 'store.backup'), full),
    saying(/the backup takes up to \d+ bytes and the disk of .* has 1000/),
  );
  assert.deepEqual(readdirSync(folder), []);
});

test('a cancelled backup leaves the older one', async (t) => {
  const { directory } = await filledStore(t);
  const folder = temporaryDirectory(t);
  const file = join(folder, 'store.backup');
  await writeBackupFile(directory, file, deps);
  const before = readFileSync(file);
  const cancelling = new AbortController();
  const onProgress = (): void => cancelling.abort(new Error('enough'));
  const { signal } = cancelling;
  await assert.rejects(writeBackupFile(directory, file, { nowMs: 1, signal, onProgress }), /enough/);
  assert.deepEqual(readFileSync(file), before);
  assert.deepEqual(readdirSync(folder), ['store.backup']);
});

test('what a backup of a process that is gone has left is removed, and what one still writes is not', async (t) => {
  const { directory } = await filledStore(t);
  const folder = temporaryDirectory(t);
  // The first process of a system is always there; no system has ids of ten digits.
  for (const name of [
    'store.backup.4294967295.partial',
    'store.backup.1.partial',
    'other.4294967295.partial',
  ])
    writeFileSync(join(folder, name), '');
  await writeBackupFile(directory, join(folder, 'store.backup'), deps);
  assert.deepEqual(readdirSync(folder).toSorted(), [
    'other.4294967295.partial',
    'store.backup',
    'store.backup.1.partial',
  ]);
});

test('a folder in place of a file of tokens is a failure, not a backup without them', async (t) => {
  const { directory } = await filledStore(t);
  const folder = temporaryDirectory(t);
  mkdirSync(join(directory, 'ops-tokens.json'));
  await assert.rejects(writeBackupFile(directory, join(folder, 'store.backup'), deps), /EISDIR/);
  assert.deepEqual(readdirSync(folder), []);
});

test('a moment stays as it was while the store is written', async (t) => {
  const store = await filledStore(t);
  const moment = await StoreMoment.take(store.directory);
  const { journal, events } = openJournal(store);
  for (const number of [3, 4, 5]) events.append(draftOf('DOOR-2', number));
  await journal.allCommitted();
  const table = moment.tables.find(({ name }) => name === 'events');
  assert.equal(table?.rows, 2);
  assert.equal(Array.from(table.read()).length, 2);
  await moment.close();
  const later = await StoreMoment.take(store.directory);
  assert.equal(later.tables.find(({ name }) => name === 'events')?.rows, 5);
  await later.close();
});

test('a store whose newest commit is never in sight is given up with a sentence', async (t) => {
  const { directory } = await filledStore(t);
  t.mock.getter(CommitOrder.prototype, 'readable', () => null);
  await assert.rejects(StoreMoment.take(directory), saying(/is written all the time/));
});
