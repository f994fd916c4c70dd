/**
 * Ends a process that exits while a transaction is under way, in whichever of its threads. The package's writer thread holds LMDB's
 * write lock then and waits for the thread whose code runs in the transaction; Node stops that thread and joins the writer, so
 * `process.exit` would never return: a server that met a fatal error would neither end nor serve. To be killed is what the store
 * is made for: nothing is lost that was acknowledged.
 */
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';

const sharedName = 'reveille: transactions under way';

/** One number for all threads. */
const underWay = isMainThread ? shareCount() : countOfMain();

export function transactionBegins(): void {
  Atomics.add(underWay, 0, 1);
}

export function transactionEnds(): void {
  Atomics.sub(underWay, 0, 1);
}

/** Threads that begin later inherit it. */
function shareCount(): Int32Array {
  const count = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  setEnvironmentData(sharedName, count);
  process.on('exit', () => {
    if (Atomics.load(count, 0) > 0) process.kill(process.pid, 'SIGKILL');
  });
  return count;
}

/** Its own where the main thread began this one before it had a store. */
function countOfMain(): Int32Array {
  const inherited = getEnvironmentData(sharedName);
  return inherited instanceof Int32Array ? inherited : new Int32Array(1);
}
