import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openStore } from '../../../../src/storage/lmdb/open-store.ts';
import { findStoreDamage, refuseDamage } from '../../../../src/storage/lmdb/store-damage.ts';
import { storeFileNames, StoreOpenError } from '../../../../src/storage/lmdb/store-format.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';

const msMax = 10_000;
const pageBytes = 4096;

/** A store at rest, with some entries. */
async function storeOf(t: Ending): Promise<string> {
  const directory = temporaryDirectory(t);
  const store = openStore(directory);
  await store.registry.environment.transaction(() => undefined);
  await store.close();
  return directory;
}

test('a store that is whole, or not there yet, has no damage', async (t) => {
  const directory = await storeOf(t);
  assert.equal(await findStoreDamage(directory, msMax), null);
  await refuseDamage(directory);
  assert.equal(await findStoreDamage(temporaryDirectory(t), msMax), null);
});

test('files that are cut short, or hold something else, are told by their names, though reading them ends a process', async (t) => {
  const directory = await storeOf(t);
  for (const name of [storeFileNames.registry, storeFileNames.state]) {
    const file = join(directory, name);
    const whole = readFileSync(file);
    const damaged = {
      empty: Buffer.alloc(0),
      'without a header': Buffer.concat([Buffer.alloc(2 * pageBytes), whole.subarray(2 * pageBytes)]),
      'cut short': whole.subarray(0, 2 * pageBytes),
      text: Buffer.from('no store'.repeat(1000)),
    };
    for (const [how, bytes] of Object.entries(damaged)) {
      writeFileSync(file, bytes);
      const damage = await findStoreDamage(directory, msMax);
      assert.ok(damage?.startsWith(`the store's file ${file} is damaged: `), `${name} ${how}: ${damage}`);
      await assert.rejects(refuseDamage(directory), StoreOpenError);
    }
    writeFileSync(file, whole);
  }
});

test('a store that a server holds is not looked at by a start', async (t) => {
  const directory = await storeOf(t);
  writeFileSync(join(directory, storeFileNames.registry), 'no store');
  writeFileSync(join(directory, 'server.lock'), JSON.stringify({ pid: process.ppid, start: null }));
  await refuseDamage(directory);
});
