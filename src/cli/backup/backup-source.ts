/** Opens the backup stream for a command, from the running server or from the store at rest. */
import { backupRoomHeader } from '../../gateways/admin/directory-routes.ts';
import { openBackup, type OpenBackup } from '../../storage/backup/backup-writer.ts';
import { openFoundStore } from '../../storage/lmdb/open-store.ts';
import { findOpsClient } from '../admin/running-server.ts';

/** `nowMs`: wall time. Rejects with a StoreOpenError, or with an OpsUnavailableError while the server starts or stops. */
export async function openBackupSource(
  dataDirectory: string,
  nowMs: number,
  signal?: AbortSignal,
): Promise<OpenBackup> {
  const ops = findOpsClient({ profile: null, dataDirectory });
  if (ops !== null) {
    const { headers, pieces } = await ops.open('/v1/backup', undefined, signal);
    return { bytesMax: Number(headers[backupRoomHeader]), pieces, close: async () => undefined };
  }
  const store = openFoundStore(dataDirectory);
  try {
    const backup = await openBackup(store.directory, nowMs);
    const close = async (): Promise<void> => {
      await backup.close();
      await store.close();
    };
    return { ...backup, close };
  } catch (error) {
    await store.close();
    throw error;
  }
}
