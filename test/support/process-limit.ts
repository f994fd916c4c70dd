/** Resource limits of a running process, enforced by the kernel: a full disk, or exhausted memory. */
import { execFileSync, spawnSync } from 'node:child_process';

/** Reason to skip a test that limits a process; false: none. */
export const noPrlimit =
  spawnSync('prlimit', ['--version']).status !== 0 && 'prlimit limits the files of a process';

/**
 * Limits in bytes: `fsize` of each of its files, `as` of its address space, `data` of its writable memory. Writes and maps
 * beyond them fail.
 */
export function limitProcess(
  pid: number,
  resource: 'fsize' | 'as' | 'data',
  bytes: number | 'unlimited',
): void {
  execFileSync('prlimit', ['--pid', String(pid), `--${resource}=${bytes}:`]);
}
