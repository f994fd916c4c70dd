/** The disk of a directory: the bytes left on it, and whether it accepts writes. */
import { randomUUID } from 'node:crypto';
import { statfsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StoreOpenError } from './store-format.ts';
import { diskProbeBytes } from './store-limits.ts';

/**
 * Writes, syncs and removes a file of `diskProbeBytes` in the directory: before a refused commit is retried, because LMDB prints each
 * failed commit, and in the doctor, because a quota or a disk that the kernel has given up shows nowhere else. Null: it succeeded.
 * Never rejects.
 */
export async function probeDisk(directory: string): Promise<Error | null> {
  const path = join(directory, `disk-probe.${randomUUID()}`);
  try {
    await writeFile(path, Buffer.alloc(diskProbeBytes), { flag: 'wx', mode: 0o600, flush: true });
    return null;
  } catch (error) {
    return error as Error;
  } finally {
    await rm(path, { force: true }).catch(() => undefined);
  }
}

/** Bytes that this process may still write to the disk of an existing directory. Throws the system's error. */
export function freeBytesOf(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

/** Throws a StoreOpenError when less than `needed` bytes are free; `what` names the data in the error. */
export function refuseFull(what: string, needed: number, directory: string, free: number): void {
  if (free >= needed) return;
  throw new StoreOpenError(
    `${what} takes up to ${needed} bytes and the disk of ${directory} has ${free}: free some space, or name another place`,
  );
}
