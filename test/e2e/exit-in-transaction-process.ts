/** Exits with code 3 within its own transaction or that of a thread. Arguments: a directory, and `main` or `thread`. */
import { join } from 'node:path';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Environment } from '../../src/storage/lmdb/environment.ts';

const [directory = '', where] = process.argv.slice(2);

/** Opens both files as a server does: the thread's file is not the first of the process. */
function transact(name: string, act: () => void): void {
  const environment = new Environment(join(directory, name));
  const table = environment.table<number>('numbers');
  void environment.transaction(() => {
    void table.put(Buffer.from('number'), 1);
    act();
  });
}

if (!isMainThread) {
  // Blocks within the transaction, as a busy thread would.
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
