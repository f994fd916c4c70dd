/**
 * Probes a disk by writing a file: before a refused commit is retried, because LMDB prints each failed commit, and in the doctor,
 * because a quota or a disk that the kernel has given up shows nowhere else.
 */
import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { diskProbeBytes } from './store-limits.ts';

/** Writes, syncs and removes a file of `diskProbeBytes` in the directory. Null: it succeeded. Never rejects. */
export async function probeDisk(directory: string): Promise<Error | null> {
  const path = join(directory, `disk-probe.${randomUUID()}`);
  try {
    const file = await open(path, 'wx', 0o600);
    try {
      await file.writeFile(Buffer.alloc(diskProbeBytes));
      await file.datasync();
    } finally {
      await file.close();
    }
    return null;
  } catch (error) {
    return error as Error;
  } finally {
    await rm(path, { force: true }).catch(() => undefined);
  }
}
