/** Whether processes that a test did not start itself are there. */
import { readFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';

/** Resolves when it is gone, or is nothing any more but an entry that nobody has asked for. */
export async function processGone(pid: number): Promise<void> {
  while (isAlive(pid)) await turn();
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
