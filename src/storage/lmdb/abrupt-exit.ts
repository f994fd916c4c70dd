/**
 * Kills the process when it exits during a transaction of any of its threads. LMDB's write lock is then held by the lmdb package's
 * writer thread, which waits for the thread that runs the transaction; Node stops that thread and joins the writer, so `process.exit`
 * would never return, and a server with a fatal error would neither end nor serve. The store is built to survive a kill: acknowledged
 * writes are not lost.
 */
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';

const sharedName = 'reveille: transactions under way';

const underWay = isMainThread ? shareCount() : countOfMain();

export function transactionBegins(): void {
  Atomics.add(underWay, 0, 1);
}

export function transactionEnds(): void {
  Atomics.sub(underWay, 0, 1);
}

/** Threads started later inherit the count. */
function shareCount(): Int32Array {
  const count = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  setEnvironmentData(sharedName, count);
  process.on('exit', () => {
    if (Atomics.load(count, 0) > 0) process.kill(process.pid, 'SIGKILL');
  });
  return count;
}

/** A separate count if the main thread started this one before it opened a store. */
function countOfMain(): Int32Array {
  const inherited = getEnvironmentData(sharedName);
  return inherited instanceof Int32Array ? inherited : new Int32Array(1);
}
