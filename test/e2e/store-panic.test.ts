/** A store of which LMDB takes nothing any more: who waits for it hears of it, and a new start has what was committed. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { moduleBeside } from '../../src/lib/module-worker.ts';
import { Environment } from '../../src/storage/lmdb/environment.ts';
import { runArgs } from '../support/checkout.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

const noPrlimit = spawnSync('prlimit', ['--version']).status !== 0 && 'prlimit limits the files of a process';
const refused = 'second panic\nsynchronous panic\nclosed\n';

for (const [whether, said, signal] of [
  ['known', `first taken\ntold\n${refused}`, null],
  // The lock that the package's writer keeps would hold up the exit.
  ['unknown', `first taken\ntold\nunaware panic\n${refused}`, 'SIGKILL'],
] as const)
  test(
    `transactions of a file of which LMDB has panicked are refused, where that was ${whether}`,
    { skip: noPrlimit },
    (t) => {
      const path = join(temporaryDirectory(t), 'values.mdb');
      const panicked = runArgs(moduleBeside('panicked-store-process', import.meta.url));
      const result = spawnSync(process.execPath, [...panicked, path, whether], { encoding: 'utf8' });
      assert.deepEqual([result.stdout, result.signal], [said, signal], result.stderr);
      const environment = new Environment(path, 'write');
      t.after(() => environment.close());
      const table = environment.table<Buffer | string>('values');
      assert.ok(table.get(Buffer.from('first')) !== undefined, 'what was committed is there');
      assert.equal(table.get(Buffer.from('second')), undefined);
    },
  );
