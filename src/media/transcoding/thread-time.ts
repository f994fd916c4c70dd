/**
 * CPU time of single threads, which Node 20 does not offer. It counts only the work of a task, whatever else the machine does. Linux
 * reports it by the kernel's thread id; elsewhere it is unknown.
 */
import { readFileSync, readlinkSync } from 'node:fs';

/** The kernel's id of the calling thread; null: unknown. */
export function ownThreadId(): number | null {
  try {
    const id = Number(readlinkSync('/proc/thread-self').split('/').pop());
    return threadTimeMs(id) === null ? null : id;
  } catch {
    return null;
  }
}

/** CPU time of a thread of this process; null: unknown, or the thread has ended. */
export function threadTimeMs(threadId: number): number | null {
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${threadId}/schedstat`, 'latin1').split(' ');
    return Number(nanoseconds) / 1e6;
  } catch {
    return null;
  }
}
