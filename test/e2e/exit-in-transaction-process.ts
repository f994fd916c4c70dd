/** Exits with code 3, in the midst of a transaction of its own or of a thread. Run with a directory and `main` or `thread`. */
import { join } from 'node:path';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Environment } from '../../src/storage/lmdb/environment.ts';

const [directory = '', where] = process.argv.slice(2);

/** Both files, as a server has them: the thread's own is not the first that the process opens. */
function transact(name: string, act: () => void): void {
  const environment = new Environment(join(directory, name));
  const table = environment.table<number>('numbers');
  void environment.transaction(() => {
    void table.put(Buffer.from('number'), 1);
    act();
  });
}

if (!isMainThread) {
  // Stands still within the transaction, as a thread that is busy there.
  transact('thread.mdb', () => {
    parentPort?.postMessage('within');
    Atomics.wait(new Int32Array(workerData as SharedArrayBuffer), 0, 0);
  });
} else if (where === 'thread') {
  const never = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const worker = new Worker(new URL(import.meta.url), {
    argv: [directory],
    workerData: never,
    execArgv: process.execArgv,
  });
  worker.once('message', () => process.exit(3));
} else transact('main.mdb', () => process.exit(3));
