/** Verifies a backup by its checksum, and by reading through the store that is unpacked from it. */
import { rmSync } from 'node:fs';
import { openStore } from '../lmdb/open-store.ts';
import { walkStore } from '../lmdb/store-damage.ts';
import { StoreOpenError } from '../lmdb/store-format.ts';
import { damageWalkOfBackupMsMax } from '../lmdb/store-limits.ts';
import type { BackupManifest } from './backup-format.ts';
import { unpackToLookAt, type RestoreDeps } from './backup-restore.ts';
import { removeLeftovers } from '../lmdb/leftovers.ts';

/**
 * `path`: the store is unpacked next to it, and removed afterwards. Rejects with a StoreOpenError when the backup is incomplete or
 * damaged.
 */
export async function verifyBackup(
  source: AsyncIterable<Buffer>,
  path: string,
  deps: RestoreDeps,
): Promise<BackupManifest> {
  removeLeftovers(path, '.unpacked');
  const directory = `${path}.${process.pid}.unpacked`;
  const manifest = await unpackToLookAt(source, directory, deps);
  try {
    await readThrough(directory, deps.name);
    return manifest;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function readThrough(directory: string, name: string): Promise<void> {
  const walk = await walkStore(directory, damageWalkOfBackupMsMax);
  if (walk.state === 'damaged')
    throw new StoreOpenError(`the store in ${name} is damaged, use another backup: ${walk.damage}`);
  if (walk.state !== 'whole')
    throw new StoreOpenError(`the store in ${name} could not be read to its end: try again`);
  await openStore(directory).close();
}
