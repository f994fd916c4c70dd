import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { once } from 'node:events';
import { test } from 'node:test';
import { unpack } from 'msgpackr';
import { moduleBeside, startModuleWorker } from '../../../../src/lib/module-worker.ts';
import {
  writeBackupFile,
  type BackupDeps,
  type WrittenBackup,
} from '../../../../src/storage/backup/backup-file.ts';
import { backupInWorker } from '../../../../src/storage/backup/backup-thread.ts';
import { openBackup } from '../../../../src/storage/backup/backup-writer.ts';
import { StoreSnapshot } from '../../../../src/storage/backup/store-snapshot.ts';
import { StoreOpenError } from '../../../../src/storage/lmdb/store-format.ts';
import { backupOf, filledStore, inPieces, readBackup, takenAtMs } from '../../../support/backup-scene.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';
import { draftOf, openJournal } from '../../../support/test-journal.ts';

async function backUp(
  directory: string,
  file: string,
  deps: BackupDeps = {},
  nowMs = 0,
): Promise<WrittenBackup> {
  const backup = await openBackup(directory, nowMs);
  try {
    return await writeBackupFile(file, backup, deps);
  } finally {
    await backup.close();
  }
}

function saying(sentence: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof StoreOpenError && sentence.test(error.message);
}

test('a backup is a file of its owner alone, replaces an older one on request, and leaves no other file', async (t) => {
  const { directory } = await filledStore(t);
  const folder = temporaryDirectory(t);
  const file = join(folder, 'store.backup');
  const first = await backUp(directory, file);
  assert.equal(first.bytes, statSync(file).size);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const second = await backUp(directory, file, { replaces: true }, 1);
  assert.notEqual(first.sha256, second.sha256);
  assert.equal((await readBackup(inPieces(readFileSync(file)))).manifest.at, '1970-01-01T00:00:00.001Z');
  assert.deepEqual(readdirSync(folder), ['store.backup']);
});

test('a backup overwrites no file without being asked, and never a folder', async (t) => {
  const { directory } = await filledStore(t);
  const file = join(temporaryDirectory(t), 'thesis.txt');
  writeFileSync(file, 'years of work');
  await assert.rejects(backUp(directory, file), saying(/exists already: .* --force$/));
  await assert.rejects(backUp(directory, directory, { replaces: true }), saying(/is not a regular file/));
  assert.equal(readFileSync(file, 'utf8'), 'years of work');
});

test('a full disk is reported before any byte is written', async (t) => {
  const { directory } = await filledStore(t);
  const folder = temporaryDirectory(t);
  const full = { freeBytes: () => 1000 };
  await assert.rejects(
    backUp(directory, join(folder, 'store.backup'), full),
    saying(/the backup takes up to \d+ bytes and the disk of .* has 1000/),
  );
  assert.deepEqual(readdirSync(folder), []);
});

test('a cancelled backup keeps the older one', async (t) => {
  const { directory } = await filledStore(t);
  const folder = temporaryDirectory(t);
  const file = join(folder, 'store.backup');
  await backUp(directory, file);
  const before = readFileSync(file);
  const cancelling = new AbortController();
  const onProgress = (): void => cancelling.abort(new Error('enough'));
  const { signal } = cancelling;
  await assert.rejects(backUp(directory, file, { signal, onProgress, replaces: true }, 1), /enough/);
  assert.deepEqual(readFileSync(file), before);
  assert.deepEqual(readdirSync(folder), ['store.backup']);
});

test('the partial file of a dead process is removed, and that of a living one stays', async (t) => {
  const { directory } = await filledStore(t);
  const folder = temporaryDirectory(t);
  // Process 1 always exists; no system has process ids of ten digits.
  for (const name of [
    'store.backup.4294967295.partial',
    'store.backup.1.partial',
    'other.4294967295.partial',
  ])
    writeFileSync(join(folder, name), '');
  await backUp(directory, join(folder, 'store.backup'));
  assert.deepEqual(readdirSync(folder).toSorted(), [
    'other.4294967295.partial',
    'store.backup',
    'store.backup.1.partial',
  ]);
});

test('a folder in place of a token file fails the backup', async (t) => {
  const { directory } = await filledStore(t);
  const folder = temporaryDirectory(t);
  mkdirSync(join(directory, 'ops-tokens.json'));
  await assert.rejects(backUp(directory, join(folder, 'store.backup')), /EISDIR/);
  assert.deepEqual(readdirSync(folder), []);
});

test('a snapshot does not change while the store is written', async (t) => {
  const store = await filledStore(t);
  const snapshot = await StoreSnapshot.open(store.directory);
  const { journal, events } = openJournal(store);
  for (const number of [3, 4, 5]) events.append(draftOf('DOOR-2', number));
  await journal.allCommitted();
  const table = snapshot.tables.find(({ name }) => name === 'events');
  assert.equal(table?.rows, 2);
  assert.equal(Array.from(table.read()).length, 2);
  await snapshot.close();
  const later = await StoreSnapshot.open(store.directory);
  assert.equal(later.tables.find(({ name }) => name === 'events')?.rows, 5);
  await later.close();
});

/** Number of different snapshots, with a write between any two. */
const momentsWanted = 50;

test('a snapshot is consistent across files while another thread writes them', async (t) => {
  const directory = join(temporaryDirectory(t), 'data');
  mkdirSync(directory, { mode: 0o700 });
  const caller = moduleBeside('../../../support/caller', import.meta.url).href;
  const writer = startModuleWorker('moment-writer-worker', caller, directory);
  await once(writer, 'message');
  const seen = new Set<number>();
  while (seen.size < momentsWanted) {
    const snapshot = await StoreSnapshot.open(directory);
    const [registry = NaN, state = NaN] = ['registry', 'state'].map((file) => {
      const [row] = Array.from(snapshot.tables.find((table) => table.file === file)?.read() ?? []);
      return Number(unpack(row?.value ?? Buffer.of()));
    });
    await snapshot.close();
    assert.ok(state === registry || state === registry + 1, `${state} and ${registry}`);
    seen.add(state);
  }
  const gone = once(writer, 'exit');
  writer.postMessage('stop');
  await gone;
});

test('a backup on a thread is equal, arrives on demand, and ends when it is abandoned', async (t) => {
  const { directory } = await filledStore(t);
  const { bytesMax, pieces } = await backupInWorker({ directory, nowMs: takenAtMs });
  const bytes = Buffer.concat(await pieces.toArray());
  assert.deepEqual(bytes, await backupOf(directory));
  assert.ok(bytesMax > 1000);
  const { pieces: unwanted } = await backupInWorker({ directory, nowMs: takenAtMs });
  unwanted.destroy();
  mkdirSync(join(directory, 'ops-tokens.json'));
  const broken = await backupInWorker({ directory, nowMs: 0 });
  await assert.rejects(broken.pieces.toArray(), saying(/EISDIR/));
});
