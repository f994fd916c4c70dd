/** Whether processes that a test did not start itself are there. */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** Resolves when it is gone, or is nothing any more but an entry that nobody has asked for. */
export async function processGone(pid: number): Promise<void> {
  while (isAlive(pid)) await pause(10);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
