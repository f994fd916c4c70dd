import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Command } from 'commander';
import { addBackupCommand, describeContent } from '../../../../src/cli/backup/backup-command.ts';
import { addRestoreCommand, addVerifyCommand } from '../../../../src/cli/backup/restore-command.ts';
import { Pace, rowsInWords } from '../../../../src/cli/shell/pace.ts';
import { openStoreAtRest } from '../../../../src/storage/lmdb/open-store.ts';
import { commandScene, type CommandScene } from '../../../support/command-scene.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';

function addAll(program: Command): void {
  addBackupCommand(program);
  addRestoreCommand(program);
  addVerifyCommand(program);
}

interface Scene extends CommandScene {
  readonly file: string;
}

async function sceneWithStore(t: Ending): Promise<Scene> {
  const scene = commandScene(t, addAll);
  await openStoreAtRest(scene.dataDirectory).close();
  return { ...scene, file: join(temporaryDirectory(t), 'store.backup') };
}

test('a backup reports its content and checksum, and that it is secret', async (t) => {
  const { run, output, file, dataDirectory } = await sceneWithStore(t);
  await run('backup', file);
  assert.match(
    output.text,
    /^backed up .* in 0\.0 s: \d+ bytes, 0 devices, 0 events, \d+ rows?, 0 files, of .*, release .*, store format \d+\nsha256 [0-9a-f]{64}; keep it as secret as the directory$/,
  );
  assert.ok(output.text.includes(dataDirectory));
  const { bytes, store_format } = output.json as Record<string, unknown>;
  assert.equal(typeof bytes, 'number');
  assert.equal(typeof store_format, 'number');
});

test('a backup is verified, and restored into an empty directory', async (t) => {
  const { run, output, file } = await sceneWithStore(t);
  await run('backup', file);
  await run('verify', file);
  assert.match(output.text, /store\.backup is complete \(0\.0 s\): 0 devices/);
  const empty = commandScene(t, addAll);
  rmdirSync(empty.dataDirectory);
  await empty.run('restore', file);
  assert.match(empty.output.text, /^restored .* in 0\.0 s: 0 devices/);
  assert.match(empty.output.remarks.join(), /^start it: .*serve/);
  assert.ok(existsSync(join(empty.dataDirectory, 'registry.mdb')));
  await assert.rejects(empty.run('restore', file), /is not empty/);
});

test('a missing file, a folder or a file that is not a backup is refused by name', async (t) => {
  const { run, file, dataDirectory } = await sceneWithStore(t);
  const advice = 'name a file that reveille backup wrote, or - for a pipe';
  for (const command of ['verify', 'restore']) {
    const missing = { message: new RegExp(`^the backup ${file} cannot be read: ENOENT`), advice };
    await assert.rejects(run(command, file), missing);
    const folder = { message: `the backup ${dataDirectory} cannot be read: it is a folder`, advice };
    await assert.rejects(run(command, dataDirectory), folder);
  }
  writeFileSync(file, 'something else, and as long as the beginning of a backup');
  await assert.rejects(
    run('verify', file),
    new RegExp(`^StoreOpenError: ${file} is not a backup of Reveille`),
  );
});

test('a backup does not overwrite a file without --force', async (t) => {
  const { run, file } = await sceneWithStore(t);
  writeFileSync(file, 'another file');
  await assert.rejects(run('backup', file), /exists already: .* replace it with --force$/);
  assert.equal(readFileSync(file, 'utf8'), 'another file');
  await run('backup', file, '--force');
  await run('verify', file);
  await assert.rejects(run('backup', file), /exists already/);
});

test('a missing store cannot be backed up', async (t) => {
  const { run } = commandScene(t, addAll);
  await assert.rejects(run('backup', 'file'), /no store at/);
});

test('progress shows the share, and the remaining time once it can be estimated', () => {
  let nowMs = 0;
  const pace = new Pace({ monotonicMs: () => nowMs });
  assert.equal(rowsInWords(pace, 'copying', 10, 1000), 'copying: 1 %, 10 of 1000 rows');
  nowMs = 5000;
  assert.equal(rowsInWords(pace, 'copying', 250, 1000), 'copying: 25 %, 250 of 1000 rows, 15 seconds left');
  assert.equal(rowsInWords(pace, 'copying', 0, 0), 'copying: 100 %, 0 of 0 rows, 0 seconds left');
});

test('the content is described in words', () => {
  const rows = (file: 'registry' | 'state', name: string, count: number) => ({ file, name, rows: count });
  const manifest = {
    release: '1.2.0',
    store_format: 2,
    at: '2026-11-23T22:00:00.000Z',
    tables: [rows('registry', 'devices', 1), rows('state', 'events', 3), rows('state', 'wakeups', 4)],
    files: [{ name: 'ops.token', bytes: 44 }],
  };
  assert.equal(
    describeContent(manifest),
    '1 device, 3 events, 8 rows, 1 file, of 2026-11-23T22:00:00.000Z, release 1.2.0, store format 2',
  );
});
