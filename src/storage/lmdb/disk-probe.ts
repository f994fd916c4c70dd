/**
 * A probe of a disk, by a file that is written to it. It is made before a store that refused is tried again, because LMDB prints each
 * commit that fails; and by the doctor, since a quota, or a disk that the kernel has given up, shows nowhere else.
 */
import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { diskProbeBytes } from './store-limits.ts';

/** Writes a file of `diskProbeBytes` into the directory, brings it to the disk and removes it. Null: it takes it. Never rejects. */
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
