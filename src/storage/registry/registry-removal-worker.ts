/** The thread of one removal: opens the registry beside the main thread, removes the entry if nothing refers to it, ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../lib/assert.ts';
import { removeUnused } from './entry-changes.ts';
import { RegistryTables } from './registry-tables.ts';
import type { RemovalTask } from './removal-in-worker.ts';

const port = parentPort;
assert(port !== null, 'a removal worker runs in a thread');
const { directory, mode, kind, id } = workerData as RemovalTask;

const tables = new RegistryTables(directory, mode);
try {
  port.postMessage(tables.environment.transactionSync(() => removeUnused(tables, kind, id)));
} finally {
  await tables.environment.close();
}
