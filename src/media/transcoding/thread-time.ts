/**
 * The CPU time of single threads, which Node 20 does not tell. It counts the work of a task alone, whatever else the machine
 * does meanwhile. Linux has it, by the kernel's number of the thread; elsewhere it is unknown.
 */
import { readFileSync, readlinkSync } from 'node:fs';

/** The kernel's number of the calling thread; null: unknown. */
export function ownThreadId(): number | null {
  try {
    const id = Number(readlinkSync('/proc/thread-self').split('/').pop());
    return threadTimeMs(id) === null ? null : id;
  } catch {
    return null;
  }
}

/** CPU time of a thread of this process; null: unknown, or it has ended. */
export function threadTimeMs(threadId: number): number | null {
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${threadId}/schedstat`, 'latin1').split(' ');
    return Number(nanoseconds) / 1e6;
  } catch {
    return null;
  }
}
