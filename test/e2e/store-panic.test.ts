/** A store after a panic of LMDB: waiting transactions are refused, and a restart has everything committed. */
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
  // The lock of the package's writer would block the exit.
  ['unknown', ['told', 'unaware panic', ...refused], 'SIGKILL'],
] as const)
  test(
    `transactions of a file after a panic of LMDB are refused if the panic was ${whether}`,
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
