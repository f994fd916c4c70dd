import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ApplicationId } from '../../../../src/model/ids.ts';
import { openStore } from '../../../../src/storage/lmdb/open-store.ts';
import { judgeWalk, refuseDamage, walkStore } from '../../../../src/storage/lmdb/store-damage.ts';
import { storeFileNames, StoreOpenError } from '../../../../src/storage/lmdb/store-format.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';

const msMax = 10_000;
const pageBytes = 4096;

/** A closed store with entries on several pages. */
async function storeOf(t: Ending): Promise<string> {
  const directory = temporaryDirectory(t);
  const store = openStore(directory);
  await store.registry.environment.transaction(() => {
    for (let i = 0; i < 1000; i++)
      store.registry.put('application', { appId: `app-${i}` as ApplicationId, name: 'n'.repeat(50) });
  });
  await store.close();
  return directory;
}

async function damageOf(directory: string): Promise<string | null> {
  const walk = await walkStore(directory, msMax);
  return walk.state === 'damaged' ? walk.damage : null;
}

test('an intact or missing store has no damage', async (t) => {
  const directory = await storeOf(t);
  assert.deepEqual(await walkStore(directory, msMax), { state: 'whole' });
  await refuseDamage(directory);
  assert.deepEqual(await walkStore(temporaryDirectory(t), msMax), { state: 'whole' });
});

test('a walk out of time reports that it has read a part', async (t) => {
  assert.deepEqual(await walkStore(await storeOf(t), -1), { state: 'partly read' });
});

test('a walk ended by Ctrl-C or a lack of memory reports no damage', () => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL', null])
    assert.deepEqual(judgeWalk('/data', 'registry.mdb\n', signal), { state: 'partly read' });
  for (const signal of ['SIGSEGV', 'SIGBUS']) {
    const damage = `the store's file /data/state.mdb is damaged: reading it ends a process with ${signal}`;
    assert.deepEqual(judgeWalk('/data', 'registry.mdb\nstate.mdb\n', signal), { state: 'damaged', damage });
  }
});

test('an overwritten page of entries is damage', async (t) => {
  const directory = await storeOf(t);
  const file = join(directory, storeFileNames.registry);
  const bytes = readFileSync(file);
  const page = Math.floor(bytes.indexOf('app-500') / pageBytes) * pageBytes;
  writeFileSync(file, bytes.fill(0, page, page + pageBytes));
  assert.ok((await damageOf(directory))?.startsWith(`the store's file ${file} is damaged: `));
});

test('truncated or foreign files are reported by name, though reading them crashes a process', async (t) => {
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
      const damage = await damageOf(directory);
      assert.ok(damage?.startsWith(`the store's file ${file} is damaged: `), `${name} ${how}: ${damage}`);
      await assert.rejects(refuseDamage(directory), StoreOpenError);
    }
    writeFileSync(file, whole);
  }
});

test('a start does not walk a store that a server owns', async (t) => {
  const directory = await storeOf(t);
  writeFileSync(join(directory, storeFileNames.registry), 'no store');
  writeFileSync(join(directory, 'server.lock'), JSON.stringify({ pid: process.ppid, start: null }));
  await refuseDamage(directory);
});
