/**
 * Fronts of a process that exits, for whatever reason. Node stops their threads then, and one that was stopped with sockets open
 * would abort the process: its exit code would be lost. So each closes its sockets first.
 */
import type { Worker } from 'node:worker_threads';
import { frontExitMsMax } from '../../model/http-limits.ts';
import { frontCounters, frontSockets, type ToFront } from './front-messages.ts';

/** With their counters. */
const threads = new Map<Worker, Int32Array>();

/** `counters`: as the thread was started with. */
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
    // A thread that is stuck would abort the process: it is killed instead.
    if (Atomics.wait(counters, sockets, frontSockets.open, frontExitMsMax) === 'timed-out')
      process.kill(process.pid, 'SIGKILL');
  }
}

/** A thread that has opened none opens none from now on. */
function mayBeOpen(counters: Int32Array): boolean {
  const { unopened, open, closed } = frontSockets;
  return Atomics.compareExchange(counters, frontCounters.sockets, unopened, closed) === open;
}
