/** The thread of held-store.ts: begins a write, reports it, and keeps the write open. */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../src/lib/assert.ts';
import { StateTables } from '../../src/storage/lmdb/state-tables.ts';
import { RegistryTables } from '../../src/storage/registry/registry-tables.ts';

export interface HoldTask {
  readonly directory: string;
  readonly file: 'state' | 'registry';
  /** Shared; a value other than 0 releases the lock. */
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
