/** The thread of one import: opens the registry beside the main thread, imports, answers once, ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../lib/assert.ts';
import { CommitSwitch } from './commit-switch.ts';
import { importRegistry } from './registry-import.ts';
import type { ImportMessage, ImportTask } from './import-in-worker.ts';
import { RegistryTables } from './registry-tables.ts';

const port = parentPort;
assert(port !== null, 'an import worker runs in a thread');
const { directory, mode, request, commitSwitch } = workerData as ImportTask;
const send = (message: ImportMessage): void => port.postMessage(message);

const tables = new RegistryTables(directory, mode);
try {
  const result = importRegistry(tables, request, {
    onProgress: (progress) => send({ kind: 'progress', progress }),
    commitSwitch: new CommitSwitch(commitSwitch),
  });
  send({ kind: 'result', result });
} finally {
  await tables.environment.close();
}
