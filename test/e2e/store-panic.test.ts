/** A store of which LMDB takes nothing any more: who waits for it hears of it, and a new start has what was committed. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { moduleBeside } from '../../src/lib/module-worker.ts';
import { Environment } from '../../src/storage/lmdb/environment.ts';
import { runArgs } from '../support/checkout.ts';
import { noPrlimit } from '../support/process-limit.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

const refused = ['second panic', 'synchronous panic'];

for (const [whether, said, signal] of [
  ['known', ['told', ...refused], null],
  // The lock that the package's writer keeps would hold up the exit.
  ['unknown', ['told', 'unaware panic', ...refused], 'SIGKILL'],
] as const)
  test(
    `transactions of a file of which LMDB has panicked are refused, where that was ${whether}`,
    { skip: noPrlimit },
    (t) => {
      const panicked = runArgs(moduleBeside('panicked-store-process', import.meta.url));
      const result = spawnSync(process.execPath, [...panicked, temporaryDirectory(t), whether], {
        encoding: 'utf8',
      });
      const [path = '', ...rest] = result.stdout.trimEnd().split('\n');
      assert.deepEqual([rest, result.signal], [said, signal], result.stderr);
      const environment = new Environment(path);
      t.after(() => environment.close());
      const table = environment.table<Buffer | string>('values');
      assert.ok(table.get(Buffer.from('first')) !== undefined, 'what was committed is there');
      assert.equal(table.get(Buffer.from('second')), undefined);
    },
  );
