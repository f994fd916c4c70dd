/** The thread behind held-store.ts: it begins to write, says so, and waits with its write under way. */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../src/lib/assert.ts';
import { StateTables } from '../../src/storage/lmdb/state-tables.ts';
import { RegistryTables } from '../../src/storage/registry/registry-tables.ts';

/** What it is given. */
export interface HoldTask {
  readonly directory: string;
  readonly file: 'state' | 'registry';
  /** Shared; not 0: let go. */
  readonly released: Int32Array;
}

const { directory, file, released } = workerData as HoldTask;
const tables = new (file === 'state' ? StateTables : RegistryTables)(directory);
tables.environment.transactionSync(() => {
  assert(parentPort !== null, 'the holder is a thread');
  parentPort.postMessage('held');
  Atomics.wait(released, 0, 0);
});
await tables.environment.close();
