/** A thread that writes a number into one file of a store, then the same number into another, until it is stopped. */
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { Environment } from '../../src/storage/lmdb/environment.ts';
import { storeFileNames } from '../../src/storage/lmdb/store-format.ts';

const files = [storeFileNames.state, storeFileNames.registry].map((name) => {
  const environment = new Environment(join(workerData as string, name));
  return { environment, table: environment.table<number>('numbers') };
});
const stop = new AbortController();
parentPort?.once('message', () => stop.abort());

for (let number = 0; !stop.signal.aborted; number++) {
  for (const { environment, table } of files)
    await environment.transaction(() => void table.put(Buffer.from('number'), number));
  if (number === 0) parentPort?.postMessage('written');
}
for (const { environment } of files) await environment.close();
