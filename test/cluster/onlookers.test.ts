/** A store is looked on by other processes, over and over, while one writes it: nothing that was committed is lost. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { Environment, type EnvironmentMode } from '../../src/storage/lmdb/environment.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { runArgs } from '../support/checkout.ts';
import { moduleBeside } from '../../src/lib/module-worker.ts';

const entry = runArgs(moduleBeside('onlooking-process', import.meta.url));
/** Without the check of the order a few commits of a hundred opens are lost. */
const opens = 4000;

const keyOf = (number: number): Buffer => {
  const key = Buffer.alloc(4);
  key.writeUInt32BE(number);
  return key;
};

async function commitBesideOnlookers(t: TestContext, mode: EnvironmentMode): Promise<void> {
  const path = join(temporaryDirectory(t), 'x.mdb');
  const environment = new Environment(path, mode);
  t.after(() => environment.close());
  const table = environment.table<number>('numbers');
  await environment.transaction(() => void table.put(keyOf(0), 0));
  const run = [...entry, path, `${opens}`];
  const onlooker = spawn(process.execPath, run, { stdio: ['ignore', 'ignore', 'inherit'] });
  t.after(() => onlooker.kill('SIGKILL'));
  const ended = once(onlooker, 'exit');
  let count = 0;
  while (onlooker.exitCode === null && onlooker.signalCode === null) {
    count += 1;
    await environment.transaction(() => void table.put(keyOf(count), count));
  }
  assert.deepEqual(await ended, [0, null]);
  environment.refresh();
  const lost = Array.from({ length: count }, (_, i) => i + 1).filter(
    (number) => table.get(keyOf(number)) !== number,
  );
  assert.deepEqual(lost, []);
  t.diagnostic(`${count} commits beside ${opens} opens`);
}

test('nothing that a lone process commits is lost while others look on', (t) =>
  commitBesideOnlookers(t, 'write'));
