import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { Environment } from '../../../../src/storage/lmdb/environment.ts';
import { faultOf } from '../../../../src/storage/lmdb/store-fault.ts';
import { wipePages } from '../../../support/damaged-store.ts';

const key = Buffer.from('key');

function openEnvironment(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'reveille-test-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const environment = new Environment(join(directory, 'x.mdb'));
  return { environment, table: environment.table<number>('numbers') };
}

test('a watch sees a whole batch, once, and no later than the promise resolves', async (t) => {
  const { environment, table } = openEnvironment(t);
  const other = Buffer.from('other');
  for (let round = 1; round <= 200; round++) {
    let seen = 0;
    await environment.transaction(
      () => {
        void table.put(other, round);
        void table.put(key, round);
      },
      {
        isVisible: () => table.get(key) === round,
        onVisible: () => {
          seen += 1;
          assert.equal(table.get(other), round);
        },
      },
    );
    assert.ok(seen <= 1);
    assert.equal(table.get(key), round);
  }
  await environment.close();
});

test('an environment that is closed during a batch is not read any more', async (t) => {
  const { environment, table } = openEnvironment(t);
  const looks: string[] = [];
  const batch = environment.transaction(() => void table.put(key, 1), {
    isVisible: () => {
      looks.push(isClosed ? 'closed' : 'open');
      return false;
    },
    onVisible: () => assert.fail('it never becomes visible'),
  });
  let isClosed = false;
  const closed = environment.close();
  isClosed = true;
  await Promise.all([batch, closed]);
  // The package resets its reads on a timer of its own.
  await sleep(0);
  assert.ok(!looks.includes('closed'));
});

test('a transaction of a closing environment is rejected, and the one before it is committed', async (t) => {
  const { environment, table } = openEnvironment(t);
  const batch = environment.transaction(() => void table.put(key, 1));
  const closed = environment.close();
  const late = environment.transaction(() => assert.fail('it never runs'));
  await assert.rejects(late, /is closed: nothing can be written to it any more/);
  await batch;
  await closed;
});

test('a transaction that throws changes nothing', async (t) => {
  const { environment, table } = openEnvironment(t);
  const failing = environment.transaction(() => {
    void table.put(key, 1);
    throw new Error('no');
  });
  await assert.rejects(failing, { message: 'no' });
  assert.equal(table.get(key), undefined);
  await environment.close();
});

test('closing an environment waits for its transactions', async (t) => {
  const { environment, table } = openEnvironment(t);
  const beside = new Environment(environment.path);
  t.after(() => beside.close());
  let isCommitted = false;
  void environment.transaction(() => void table.put(key, 1)).then(() => (isCommitted = true));
  await environment.close();
  assert.equal(isCommitted, true);
  beside.refresh();
  assert.equal(beside.table('numbers').get(key), 1);
});

test('a damaged page fails its reads and each commit, is reported, and ends no process', async (t) => {
  const { environment } = openEnvironment(t);
  const names = environment.table<string>('names');
  const keyOf = (number: number): Buffer => Buffer.from(`name-${number}`);
  const numbers = Array.from({ length: 400 }, (_, number) => number);
  await environment.transaction(() => {
    for (const number of numbers) void names.put(keyOf(number), `${number} `.repeat(20));
  });
  const faults: unknown[] = [];
  environment.onFault((error) => faults.push(error));
  wipePages(environment.path, 'name-250');
  environment.refresh();
  assert.throws(() => names.get(keyOf(250)), /MDB_/);
  assert.equal(names.get(keyOf(1)), '1 '.repeat(20), 'undamaged pages are read in the same turn');
  assert.equal(faults.length, 1);
  for (let tries = 0; tries < 3; tries += 1)
    await assert.rejects(
      environment.transaction(() => void names.put(keyOf(250), 'anew')),
      (error) => faultOf(error) === 'damaged',
    );
  await environment.transaction(() => void names.put(keyOf(1), 'elsewhere'));
  assert.equal(names.get(keyOf(1)), 'elsewhere');
  await environment.close();
});
