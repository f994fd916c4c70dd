import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { checkRegistry } from '../../../../src/cli/doctor/doctor-registry.ts';
import { CommandContext } from '../../../../src/cli/shell/command-context.ts';
import { Environment } from '../../../../src/storage/lmdb/environment.ts';
import { logMigration, type MigrationDeps } from '../../../../src/storage/lmdb/migrate-store.ts';
import { migrateStore, openStore, openStoreReadOnly } from '../../../../src/storage/lmdb/open-store.ts';
import { StoreFormatError } from '../../../../src/storage/lmdb/store-format.ts';
import { FakeLog } from '../../../support/fakes.ts';
import {
  copyName,
  migrationsWith,
  newFormat,
  oldFormat,
  everyFile,
  madeUpMigration,
  migratedKinds,
  seeFiles,
  writeOldStore,
} from '../../../support/made-up-migration.ts';
import { temporaryDirectory, temporaryStore, type Ending } from '../../../support/temporary-store.ts';

/** Of a store that does not open for this reason. */
async function doctorSays(reason: Error): Promise<readonly (string | undefined)[]> {
  const [finding] = await checkRegistry(new CommandContext({}, {}), () => Promise.reject(reason));
  return [finding?.check, finding?.state, finding?.found];
}

async function oldStore(t: Ending): Promise<string> {
  const directory = join(temporaryDirectory(t), 'data');
  await writeOldStore(directory);
  return directory;
}

const open = (directory: string, deps: MigrationDeps) => openStore(directory, { lock: 'taken' }, deps);

test('a store notes its format in each of its files, and a new one is of the newest', async (t) => {
  const store = temporaryStore(t);
  assert.equal(store.migrated, null);
  assert.deepEqual(
    [store.registry.environment.format, store.state.environment.format],
    [oldFormat, oldFormat],
  );
  const directory = join(temporaryDirectory(t), 'new');
  const made = open(directory, { migrations: migrationsWith(madeUpMigration()) });
  assert.equal(made.migrated, null);
  assert.deepEqual([made.registry.environment.format, made.state.environment.format], [newFormat, newFormat]);
  await made.close();
});

test('a store of an older format is migrated, with a copy beside it and a line in the log', async (t) => {
  const directory = await oldStore(t);
  const store = open(directory, { migrations: migrationsWith(madeUpMigration()) });
  const copy = join(directory, copyName);
  await store.close();
  assert.deepEqual(await seeFiles(directory), everyFile(newFormat, 1));
  assert.deepEqual(await seeFiles(copy), everyFile(oldFormat, 0));
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
    { level: 'warn', fields: { from: oldFormat, to: newFormat, seconds, copy }, message: 'store migrated' },
  ]);
  assert.equal(typeof seconds, 'number');

  const again = open(directory, { migrations: migrationsWith(madeUpMigration()) });
  assert.equal(again.migrated, null);
  logMigration(again.migrated, log);
  assert.equal(log.lines.length, 1);
  await again.close();
});

test('migrations run one after the other, each once, under one copy', async (t) => {
  const directory = await oldStore(t);
  const order: string[] = [];
  const noting = (name: string) => madeUpMigration((kind) => order.push(`${name} ${kind}`));
  const store = open(directory, { migrations: migrationsWith(noting('2'), { state: noting('3').state }) });
  assert.deepEqual(
    [store.migrated?.from, store.migrated?.to, store.registry.environment.format],
    [oldFormat, newFormat + 1, newFormat + 1],
  );
  assert.deepEqual([...new Set(order)], ['2 registry', '2 webhooks', '2 state', '3 state']);
  assert.deepEqual(
    readdirSync(directory).filter((name) => name.startsWith('format-')),
    [`format-${oldFormat}-to-${newFormat + 1}`],
  );
  await store.close();
});

for (const failing of migratedKinds)
  test(`a migration that fails in the ${failing} changes nothing, and the next start migrates`, async (t) => {
    const directory = await oldStore(t);
    const fails = madeUpMigration((kind) => {
      if (kind === failing) throw new Error('planted');
    });
    assert.throws(() => open(directory, { migrations: migrationsWith(fails) }), /cannot be opened: planted$/);
    assert.deepEqual(await seeFiles(directory), everyFile(oldFormat, 0));
    assert.deepEqual(await seeFiles(join(directory, copyName)), everyFile(oldFormat, 0));
    await openStore(directory).close();
    await open(directory, { migrations: migrationsWith(madeUpMigration()) }).close();
    assert.deepEqual(await seeFiles(directory), everyFile(newFormat, 1));
  });

for (const committed of [['state'], ['state', 'webhooks']] as const)
  test(`a start after a crash with the ${committed.join(' and ')} committed goes on, and keeps the copy`, async (t) => {
    const directory = await oldStore(t);
    const migration = madeUpMigration();
    const copy = join(directory, copyName);
    mkdirSync(copy);
    writeFileSync(join(copy, 'of-the-first-try'), '');
    for (const kind of committed) {
      const file = new Environment(join(directory, `${kind}.mdb`), 'write', {
        format: newFormat,
        migrating: true,
      });
      file.migrate(newFormat, () => migration[kind](file));
      await file.close();
    }
    const store = open(directory, { migrations: migrationsWith(migration), freeBytes: () => 0 });
    assert.deepEqual([store.migrated?.from, store.migrated?.to], [oldFormat, newFormat]);
    await store.close();
    assert.deepEqual(await seeFiles(directory), everyFile(newFormat, 1));
    assert.deepEqual(readdirSync(copy), ['of-the-first-try']);
  });

test('a copy of an earlier try, whole or not, gives way to one of the moment before the migration', async (t) => {
  const directory = await oldStore(t);
  for (const name of [copyName, `${copyName}.partial`]) {
    mkdirSync(join(directory, name));
    writeFileSync(join(directory, name, 'old'), '');
  }
  await open(directory, { migrations: migrationsWith(madeUpMigration()) }).close();
  assert.deepEqual(await seeFiles(join(directory, copyName)), everyFile(oldFormat, 0));
  assert.ok(!existsSync(join(directory, copyName, 'old')));
  assert.ok(!existsSync(join(directory, `${copyName}.partial`)));
});

test('a migration without room for the copy is refused by both numbers, and changes nothing', async (t) => {
  const directory = await oldStore(t);
  const sizes = migratedKinds.map((kind) => statSync(join(directory, `${kind}.mdb`)).size);
  const needed = 2 * sizes.reduce((sum, size) => sum + size, 0);
  const refused = new RegExp(
    `format ${oldFormat}, .* format ${newFormat} .* takes ${needed} bytes and the disk has ${needed - 1};`,
  );
  const migrations = migrationsWith(madeUpMigration());
  assert.throws(() => open(directory, { migrations, freeBytes: () => needed - 1 }), refused);
  assert.deepEqual(await seeFiles(directory), everyFile(oldFormat, 0));
  assert.ok(!readdirSync(directory).some((name) => name.startsWith('format-')));
  await open(directory, { migrations, freeBytes: () => needed }).close();
});

test('a store of a newer format is refused by all with one sentence that names both, and the doctor says it', async (t) => {
  const directory = await oldStore(t);
  await open(directory, { migrations: migrationsWith(madeUpMigration()) }).close();
  const sentence =
    `the store in ${directory} has format ${newFormat}, newer than format ${oldFormat} of this release: ` +
    `run the release that wrote it or a later one, or restore a copy of format ${oldFormat}`;
  for (const way of [
    () => openStore(directory),
    () => openStore(directory, { lock: 'held' }),
    () => openStoreReadOnly(directory),
  ])
    assert.throws(way, { message: sentence });
  await assert.rejects(migrateStore(directory), { message: sentence });
  assert.deepEqual(await doctorSays(new StoreFormatError(directory, newFormat, oldFormat)), [
    'store',
    'fail',
    sentence,
  ]);
  assert.deepEqual(await seeFiles(directory), everyFile(newFormat, 1));
});

test('a store of an older format is read by nobody before it is migrated, and the doctor warns', async (t) => {
  const directory = await oldStore(t);
  const wanted = { format: newFormat, migrating: false };
  const sentence =
    `the store in ${directory} has format ${oldFormat} and this release reads format ${newFormat}: ` +
    'start the server once, which takes a copy of the store and migrates it';
  for (const mode of ['read-only', 'shared'] as const) {
    assert.throws(() => new Environment(join(directory, 'state.mdb'), mode, wanted), { message: sentence });
    // The file is closed.
    await setImmediate();
  }
  assert.deepEqual(await doctorSays(new StoreFormatError(directory, oldFormat, newFormat)), [
    'store',
    'warn',
    sentence,
  ]);
});
