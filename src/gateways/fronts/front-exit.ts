/**
 * Closes the sockets of all fronts when the process exits. Node stops the threads then, and one stopped with open sockets would
 * abort the process, which loses its exit code.
 */
import type { Worker } from 'node:worker_threads';
import { frontExitMsMax } from '../../model/http-limits.ts';
import { frontCounters, frontSockets, type ToFront } from './front-messages.ts';

const threads = new Map<Worker, Int32Array>();

/** `counters`: the memory that the thread was started with. */
export function closeAtExit(worker: Worker, counters: SharedArrayBuffer): void {
  if (threads.size === 0) process.on('exit', closeAll);
  threads.set(worker, new Int32Array(counters));
  worker.once('exit', () => {
    threads.delete(worker);
    if (threads.size === 0) process.off('exit', closeAll);
  });
}

function closeAll(): void {
  const order: ToFront = { kind: 'close', ask: 0 };
  const open = [...threads].filter(([, counters]) => mayBeOpen(counters));
  for (const [worker] of open) worker.postMessage(order);
  for (const [, counters] of open) {
    const { sockets } = frontCounters;
    // A stuck thread would abort the process, so the process is killed instead.
    if (Atomics.wait(counters, sockets, frontSockets.open, frontExitMsMax) === 'timed-out')
      process.kill(process.pid, 'SIGKILL');
  }
}

/** A thread that has opened no socket is prevented from opening one. */
function mayBeOpen(counters: Int32Array): boolean {
  const { unopened, open, closed } = frontSockets;
  return Atomics.compareExchange(counters, frontCounters.sockets, unopened, closed) === open;
}
