/** Serves the data directory of the running server to commands on its machine: a backup, and the registry as a file. */
import { Readable } from 'node:stream';
import { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { backupInWorker } from '../../storage/backup/backup-thread.ts';
import { damagedAdvice } from '../../storage/lmdb/store-fault.ts';
import { exportRegistry } from '../../storage/registry/registry-export.ts';
import type { RegistryTables } from '../../storage/registry/registry-tables.ts';
import { explainIssues, refuse, type DirectoryRoute } from '../ops/admin-route.ts';

/** Header of a backup: its maximum size, bytes. */
export const backupRoomHeader = 'x-backup-bytes-max';

const exportQuery = z.strictObject({
  form: z.enum(['document', 'ndjson']),
  with_secrets: z.stringbool(),
});

/** `isDamaged`: pages of the store cannot be read. LMDB may crash the process that reads them, so the server refuses. */
export function directoryRoutes(
  directory: string,
  tables: RegistryTables,
  clock: Clock,
  isDamaged: () => boolean,
): DirectoryRoute[] {
  const damaged = refuse(503, `the store is damaged: ${damagedAdvice}`);
  return [
    {
      method: 'GET',
      path: '/v1/backup',
      open: async () => {
        if (isDamaged()) return damaged;
        const { bytesMax, pieces } = await backupInWorker({ directory, nowMs: clock.wallMs() });
        return { pieces, headers: { [backupRoomHeader]: String(bytesMax) } };
      },
    },
    {
      method: 'GET',
      path: '/v1/registry/export',
      open: async ({ query }) => {
        if (isDamaged()) return damaged;
        const asked = exportQuery.safeParse(Object.fromEntries(query));
        if (!asked.success) return refuse(400, explainIssues(asked.error, 'query'));
        const { form, with_secrets: withSecrets } = asked.data;
        return { pieces: Readable.from(exportRegistry(tables, { form, withSecrets })), headers: {} };
      },
    },
  ];
}
