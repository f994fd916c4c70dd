/** Watches processes that the test did not start itself. */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** Resolves when the process has exited; a zombie counts as exited. */
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
