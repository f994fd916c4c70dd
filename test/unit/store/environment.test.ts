import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { Environment } from '../../../src/store/environment.ts';

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
    await environment.batch(
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
  const batch = environment.batch(() => void table.put(key, 1), {
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
