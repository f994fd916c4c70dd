import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { judgeStoreError } from '../../../../src/cli/doctor/doctor-registry.ts';
import { Environment } from '../../../../src/storage/lmdb/environment.ts';
import { logMigration, type MigrationDeps } from '../../../../src/storage/lmdb/migrate-store.ts';
import { migrateStore, openStore, openStoreReadOnly } from '../../../../src/storage/lmdb/open-store.ts';
import { StoreFormatError } from '../../../../src/storage/lmdb/store-format.ts';
import { FakeLog } from '../../../support/fakes.ts';
import {
  everyFile,
  madeUpMigration,
  migratedKinds,
  seeFiles,
  writeOldStore,
} from '../../../support/made-up-migration.ts';
import { temporaryDirectory, temporaryStore, type Ending } from '../../../support/temporary-store.ts';

async function oldStore(t: Ending): Promise<string> {
  const directory = join(temporaryDirectory(t), 'data');
  await writeOldStore(directory);
  return directory;
}

const open = (directory: string, deps: MigrationDeps) => openStore(directory, { lock: 'taken' }, deps);

test('a store notes its format in each of its files, and a new one is of the newest', async (t) => {
  const store = temporaryStore(t);
  assert.equal(store.migrated, null);
  assert.deepEqual([store.registry.environment.format, store.state.environment.format], [1, 1]);
  const directory = join(temporaryDirectory(t), 'new');
  const made = open(directory, { migrations: [madeUpMigration()] });
  assert.equal(made.migrated, null);
  assert.deepEqual([made.registry.environment.format, made.state.environment.format], [2, 2]);
  await made.close();
});

test('a store of an older format is migrated, with a copy beside it and a line in the log', async (t) => {
  const directory = await oldStore(t);
  const store = open(directory, { migrations: [madeUpMigration()] });
  const copy = join(directory, 'format-1-to-2');
  await store.close();
  assert.deepEqual(await seeFiles(directory), everyFile(2, 1));
  assert.deepEqual(await seeFiles(copy), everyFile(1, 0));
  for (const [path, mode] of [
    [copy, 0o700],
    [join(copy, 'registry.mdb'), 0o600],
  ] as const)
    assert.equal(statSync(path).mode & 0o777, mode, path);
  await openStore(copy).close();
  const log = new FakeLog();
  logMigration(store.migrated, log);
  const { seconds } = store.migrated ?? {};
  assert.deepEqual(log.lines, [
    { level: 'warn', fields: { from: 1, to: 2, seconds, copy }, message: 'store migrated' },
  ]);
  assert.equal(typeof seconds, 'number');

  const again = open(directory, { migrations: [madeUpMigration()] });
  assert.equal(again.migrated, null);
  logMigration(again.migrated, log);
  assert.equal(log.lines.length, 1);
  await again.close();
});

test('migrations run one after the other, each once, under one copy', async (t) => {
  const directory = await oldStore(t);
  const order: string[] = [];
  const noting = (name: string) => madeUpMigration((kind) => order.push(`${name} ${kind}`));
  const store = open(directory, { migrations: [noting('2'), { state: noting('3').state }] });
  assert.deepEqual([store.migrated?.from, store.migrated?.to, store.registry.environment.format], [1, 3, 3]);
  assert.deepEqual([...new Set(order)], ['2 registry', '2 webhooks', '2 state', '3 state']);
  assert.deepEqual(
    readdirSync(directory).filter((name) => name.startsWith('format-')),
    ['format-1-to-3'],
  );
  await store.close();
});

for (const failing of migratedKinds)
  test(`a migration that fails in the ${failing} changes nothing, and the next start migrates`, async (t) => {
    const directory = await oldStore(t);
    const fails = madeUpMigration((kind) => {
      if (kind === failing) throw new Error('planted');
    });
    assert.throws(() => open(directory, { migrations: [fails] }), /cannot be opened: planted$/);
    assert.deepEqual(await seeFiles(directory), everyFile(1, 0));
    assert.deepEqual(await seeFiles(join(directory, 'format-1-to-2')), everyFile(1, 0));
    await openStore(directory).close();
    await open(directory, { migrations: [madeUpMigration()] }).close();
    assert.deepEqual(await seeFiles(directory), everyFile(2, 1));
  });

for (const committed of [['state'], ['state', 'webhooks']] as const)
  test(`a start after a crash with the ${committed.join(' and ')} committed goes on, and keeps the copy`, async (t) => {
    const directory = await oldStore(t);
    const migration = madeUpMigration();
    const copy = join(directory, 'format-1-to-2');
    mkdirSync(copy);
    writeFileSync(join(copy, 'of-the-first-try'), '');
    for (const kind of committed) {
      const file = new Environment(join(directory, `${kind}.mdb`), 'write', { format: 2, migrating: true });
      file.migrate(2, () => migration[kind](file));
      await file.close();
    }
    const store = open(directory, { migrations: [migration], freeBytes: () => 0 });
    assert.deepEqual([store.migrated?.from, store.migrated?.to], [1, 2]);
    await store.close();
    assert.deepEqual(await seeFiles(directory), everyFile(2, 1));
    assert.deepEqual(readdirSync(copy), ['of-the-first-try']);
  });

test('a copy of an earlier try, whole or not, gives way to one of the moment before the migration', async (t) => {
  const directory = await oldStore(t);
  for (const name of ['format-1-to-2', 'format-1-to-2.partial']) {
    mkdirSync(join(directory, name));
    writeFileSync(join(directory, name, 'old'), '');
  }
  await open(directory, { migrations: [madeUpMigration()] }).close();
  assert.deepEqual(await seeFiles(join(directory, 'format-1-to-2')), everyFile(1, 0));
  assert.ok(!existsSync(join(directory, 'format-1-to-2', 'old')));
  assert.ok(!existsSync(join(directory, 'format-1-to-2.partial')));
});

test('a migration without room for the copy is refused by both numbers, and changes nothing', async (t) => {
  const directory = await oldStore(t);
  const sizes = migratedKinds.map((kind) => statSync(join(directory, `${kind}.mdb`)).size);
  const needed = 2 * sizes.reduce((sum, size) => sum + size, 0);
  const refused = new RegExp(
    `format 1, .* format 2 .* takes ${needed} bytes and the disk has ${needed - 1};`,
  );
  const migrations = [madeUpMigration()];
  assert.throws(() => open(directory, { migrations, freeBytes: () => needed - 1 }), refused);
  assert.deepEqual(await seeFiles(directory), everyFile(1, 0));
  assert.ok(!readdirSync(directory).some((name) => name.startsWith('format-')));
  await open(directory, { migrations, freeBytes: () => needed }).close();
});

test('a store of a newer format is refused by all with one sentence that names both, and the doctor says it', async (t) => {
  const directory = await oldStore(t);
  await open(directory, { migrations: [madeUpMigration()] }).close();
  const sentence =
    `the store in ${directory} has format 2, newer than format 1 of this release: ` +
    'run the release that wrote it or a later one, or restore a copy of format 1';
  for (const way of [
    () => openStore(directory),
    () => openStore(directory, { lock: 'held' }),
    () => openStoreReadOnly(directory),
  ])
    assert.throws(way, { message: sentence });
  await assert.rejects(migrateStore(directory), { message: sentence });
  const { state, found } = judgeStoreError(new StoreFormatError(directory, 2, 1));
  assert.deepEqual([state, found], ['fail', sentence]);
  assert.deepEqual(await seeFiles(directory), everyFile(2, 1));
});

test('a store of an older format is read by nobody before it is migrated, and the doctor warns', async (t) => {
  const directory = await oldStore(t);
  const wanted = { format: 2, migrating: false };
  const sentence =
    `the store in ${directory} has format 1 and this release reads format 2: ` +
    'start the server once, which takes a copy of the store and migrates it';
  for (const mode of ['read-only', 'shared'] as const) {
    assert.throws(() => new Environment(join(directory, 'state.mdb'), mode, wanted), { message: sentence });
    // The file is closed.
    await setImmediate();
  }
  const { state, found } = judgeStoreError(new StoreFormatError(directory, 1, 2));
  assert.deepEqual([state, found], ['warn', sentence]);
});
