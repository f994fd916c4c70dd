/** `kill -9` in the midst of a backup, a restore and a verification: nothing looks whole that is not, and all can be repeated. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { moduleBeside } from '../../src/lib/module-worker.ts';
import { StoreMoment } from '../../src/storage/backup/store-moment.ts';
import { openStore, openStoreReadOnly } from '../../src/storage/lmdb/open-store.ts';
import { killIn } from '../support/backup-kill.ts';
import { backupOf, filledStore } from '../support/backup-scene.ts';
import { runArgs } from '../support/checkout.ts';
import { runCli } from '../support/cli-process.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';

const momentWriter = runArgs(moduleBeside('moment-writer-process', import.meta.url));

/** Different ones: so often the writer has written meanwhile. */
const momentsWanted = 50;

/** A store at rest and a backup of it. */
async function backedUp(
  t: Ending,
): Promise<{ readonly folder: string; readonly data: string; readonly file: string }> {
  const store = await filledStore(t);
  await store.close();
  const data = store.directory;
  const folder = temporaryDirectory(t);
  const file = join(folder, 'store.backup');
  const { exitCode, stderr } = await runCli(['backup', file, '--data-dir', data]);
  assert.equal(exitCode, 0, stderr);
  return { folder, data, file };
}

for (const at of [
  ['copying', 1],
  ['placing', 0],
] as const)
  test(`a backup killed while ${at[0]} leaves no file of its name, or the older one, and the next removes what it left`, async (t) => {
    const { folder, data, file } = await backedUp(t);
    const before = readFileSync(file);
    await killIn('backup', at, data, file);
    assert.deepEqual(readFileSync(file), before);
    assert.equal(readdirSync(folder).length, 2, 'the killed one has left its own');
    const other = join(folder, 'other.backup');
    await killIn('backup', at, data, other);
    assert.ok(!existsSync(other));
    for (const again of [file, other]) {
      const { exitCode, stderr } = await runCli(['backup', again, '--data-dir', data]);
      assert.equal(exitCode, 0, stderr);
    }
    assert.deepEqual(readdirSync(folder).toSorted(), ['other.backup', 'store.backup']);
    await openStore(data).close();
  });

for (const at of [
  ['restoring', 1],
  ['placing', 2],
  ['placing', 6],
] as const)
  test(`a restore killed while ${at[0]}, with ${at[1]} done, is refused by a server, and can be repeated`, async (t) => {
    const { folder, data, file } = await backedUp(t);
    const restored = join(folder, 'restored');
    await killIn('restore', at, restored, file);
    const serve = await runCli(['serve', '--data-dir', restored]);
    assert.equal(serve.exitCode, 1);
    assert.match(serve.stderr, /a restore into .* was not finished: run it again/);
    const { exitCode, stderr } = await runCli(['restore', file, '--data-dir', restored]);
    assert.equal(exitCode, 0, stderr);
    await openStoreReadOnly(restored).close();
    assert.deepEqual(await backupOf(restored), await backupOf(data));
  });

test('a verification killed has changed nothing, and the next removes what it left', async (t) => {
  const { folder, file } = await backedUp(t);
  const copy = join(temporaryDirectory(t), 'copy');
  copyFileSync(file, copy);
  await killIn('verify', ['restoring', 1], '-', file);
  assert.equal(readdirSync(folder).length, 2);
  const { exitCode, stdout } = await runCli(['verify', file]);
  assert.equal(exitCode, 0);
  assert.match(stdout, /store\.backup is whole .*: 3 devices, 2 events/);
  assert.deepEqual(readdirSync(folder), ['store.backup']);
  assert.deepEqual(readFileSync(file), readFileSync(copy));
});

test('a moment of a store is one of all its files, while another process writes one after the other', async (t) => {
  const directory = join(temporaryDirectory(t), 'data');
  mkdirSync(directory, { mode: 0o700 });
  const writer = spawn(process.execPath, [...momentWriter, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => void writer.kill('SIGKILL'));
  await once(writer.stdout, 'data');
  const seen = new Set<number>();
  while (seen.size < momentsWanted) {
    const moment = await StoreMoment.take(directory);
    const [registry = NaN, state = NaN] = ['registry', 'state'].map((file) => {
      const [row] = Array.from(moment.tables.find((table) => table.file === file)?.read() ?? []);
      return numberIn(row?.value);
    });
    await moment.close();
    assert.ok(
      state === registry || state === registry + 1,
      `${state} in the first file, ${registry} in the second`,
    );
    seen.add(state);
  }
});

/** As msgpack has a whole number. */
function numberIn(value: Buffer | undefined): number {
  const first = value?.[0] ?? NaN;
  if (value === undefined || first < 0x80) return first;
  return first === 0xcd ? value.readUInt16BE(1) : first === 0xcc ? value.readUInt8(1) : value.readUInt32BE(1);
}
