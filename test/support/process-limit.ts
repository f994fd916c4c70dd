/** Limits of a process that runs, which the kernel holds it to: a disk that is full, or memory that is spent. */
import { execFileSync, spawnSync } from 'node:child_process';

/** Why a test that limits a process is skipped; false: it can. */
export const noPrlimit =
  spawnSync('prlimit', ['--version']).status !== 0 && 'prlimit limits the files of a process';

/** By its number of bytes: `fsize` of each of its files, `as` of its address space, `data` of its writable memory. Writes and maps beyond it fail. */
export function limitProcess(
  pid: number,
  resource: 'fsize' | 'as' | 'data',
  bytes: number | 'unlimited',
): void {
  execFileSync('prlimit', ['--pid', String(pid), `--${resource}=${bytes}:`]);
}
