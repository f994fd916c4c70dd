/** Entry of the thread of one long change: opens the registry, changes it, answers once, ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../lib/assert.ts';
import { CommitSwitch } from './commit-switch.ts';
import { removeUnused } from './entry-changes.ts';
import { importRegistry } from './registry-import.ts';
import type { RegistryMessage, RegistryTask, TaskResult } from './registry-thread.ts';
import { RegistryTables } from './registry-tables.ts';

const port = parentPort;
assert(port !== null, 'a registry worker runs in a thread');
const task = workerData as RegistryTask;
const send = (message: RegistryMessage): void => port.postMessage(message);

const tables = new RegistryTables(task.directory);
try {
  send({ kind: 'result', result: perform() });
} finally {
  await tables.environment.close();
}

function perform(): TaskResult {
  const { change } = task;
  if (change.kind === 'removal')
    return tables.environment.transactionSync(() => removeUnused(tables, change.of, change.id));
  return importRegistry(tables, change.request, {
    onProgress: (progress) => send({ kind: 'progress', progress }),
    commitSwitch: new CommitSwitch(change.commitSwitch),
  });
}
