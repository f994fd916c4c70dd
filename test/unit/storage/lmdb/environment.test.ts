import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { Environment } from '../../../../src/storage/lmdb/environment.ts';
import { faultOf } from '../../../../src/storage/lmdb/store-fault.ts';
import { setBack, wipePages } from '../../../support/damaged-store.ts';

const key = Buffer.from('key');

function openEnvironment(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'reveille-test-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const environment = new Environment(join(directory, 'x.mdb'), 'write');
  return { environment, table: environment.table<number>('numbers') };
}

test('who looks for a batch sees all of it, once, and no later than the promise', async (t) => {
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
        seen: () => {
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

test('an environment that is closed under a batch is looked at no more', async (t) => {
  const { environment, table } = openEnvironment(t);
  const looks: string[] = [];
  const batch = environment.transaction(() => void table.put(key, 1), {
    isVisible: () => {
      looks.push(isClosed ? 'closed' : 'open');
      return false;
    },
    seen: () => assert.fail('it never says that it is visible'),
  });
  let isClosed = false;
  const closed = environment.close();
  isClosed = true;
  await Promise.all([batch, closed]);
  // The package resets its reads by a timer of its own.
  await sleep(0);
  assert.ok(!looks.includes('closed'));
});

test('a batch that begins while its environment is closed is refused, and the one before it is kept', async (t) => {
  const { environment, table } = openEnvironment(t);
  const batch = environment.transaction(() => void table.put(key, 1));
  const closed = environment.close();
  const late = environment.transaction(() => assert.fail('it never runs'));
  await assert.rejects(late, /is closed: nothing can be written to it any more/);
  await batch;
  await closed;
});

/** Two processes' worth of environments on one file. */
function openShared(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'reveille-test-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'x.mdb');
  const environments = [1, 2].map(() => new Environment(path, 'write'));
  t.after(() => Promise.all(environments.map((environment) => environment.close())));
  return {
    path,
    parts: environments.map((environment) => ({ environment, table: environment.table<number>('numbers') })),
  };
}

const keyOf = (number: number): Buffer => Buffer.from([number]);

for (const behind of [1, 2, 3])
  test(`what was committed while another process opened the file, ${behind} of them, is not overwritten`, async (t) => {
    const { path, parts } = openShared(t);
    const [one, other] = parts;
    assert(one !== undefined && other !== undefined);
    for (let i = 1; i <= 4; i++) await one.environment.transaction(() => void one.table.put(keyOf(i), i));
    setBack(t, path, behind);
    let calls = 0;
    await other.environment.transaction(() => {
      calls += 1;
      void other.table.put(keyOf(5), 5);
    });
    assert.equal(calls, 1);
    one.environment.refresh();
    assert.deepEqual(
      [1, 2, 3, 4, 5].map((i) => one.table.get(keyOf(i))),
      [1, 2, 3, 4, 5],
    );
  });

test('a process that opens a file sets right what it has put out of order itself', async (t) => {
  const { path, parts } = openShared(t);
  const [one] = parts;
  assert(one !== undefined);
  await one.environment.transaction(() => void one.table.put(key, 1));
  setBack(t, path, 1);
  one.environment.refresh();
  assert.equal(one.table.get(key), undefined);
  const next = new Environment(path, 'write');
  one.environment.refresh();
  assert.equal(one.table.get(key), 1);
  await next.close();
});

test('a batch, and what a thread writes at once, are in order too', async (t) => {
  const { path, parts } = openShared(t);
  const [one, other] = parts;
  assert(one !== undefined && other !== undefined);
  await one.environment.transaction(() => void one.table.put(keyOf(1), 1));
  setBack(t, path, 1);
  await other.environment.transaction(() => void other.table.put(keyOf(2), 2));
  setBack(t, path, 1);
  other.environment.transactionSync(() => void other.table.put(keyOf(3), 3));
  one.environment.refresh();
  assert.deepEqual(
    [1, 2, 3].map((i) => one.table.get(keyOf(i))),
    [1, 2, 3],
  );
});

test('a transaction that throws has changed nothing', async (t) => {
  const { environment, table } = openEnvironment(t);
  const failing = environment.transaction(() => {
    void table.put(key, 1);
    throw new Error('no');
  });
  await assert.rejects(failing, { message: 'no' });
  assert.equal(table.get(key), undefined);
  await environment.close();
});

test('an environment that is closed waits for its transactions', async (t) => {
  const { parts } = openShared(t);
  const [one, other] = parts;
  assert(one !== undefined && other !== undefined);
  let isCommitted = false;
  void one.environment.transaction(() => void one.table.put(key, 1)).then(() => (isCommitted = true));
  await one.environment.close();
  assert.equal(isCommitted, true);
  other.environment.refresh();
  assert.equal(other.table.get(key), 1);
});

test('a page that is damaged fails the reads that meet it and each commit, is told, and ends no process', async (t) => {
  const { environment } = openEnvironment(t);
  const names = environment.table<string>('names');
  const keyOf = (number: number): Buffer => Buffer.from(`name-${number}`);
  const numbers = Array.from({ length: 400 }, (_, number) => number);
  await environment.transaction(() => {
    for (const number of numbers) void names.put(keyOf(number), `${number} `.repeat(20));
  });
  const told: unknown[] = [];
  environment.onFault((error) => told.push(error));
  wipePages(environment.path, 'name-250');
  environment.refresh();
  assert.throws(() => names.get(keyOf(250)), /MDB_/);
  assert.equal(names.get(keyOf(1)), '1 '.repeat(20), 'what lies elsewhere is read in the same turn');
  assert.equal(told.length, 1);
  for (let tries = 0; tries < 3; tries += 1)
    await assert.rejects(
      environment.transaction(() => void names.put(keyOf(250), 'anew')),
      (error) => faultOf(error) === 'damaged',
    );
  await environment.transaction(() => void names.put(keyOf(1), 'elsewhere'));
  assert.equal(names.get(keyOf(1)), 'elsewhere');
  await environment.close();
});
