/** The data directory of the running server, for commands on its machine: a backup, and the registry as a file. */
import { Readable } from 'node:stream';
import { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { backupInWorker } from '../../storage/backup/backup-thread.ts';
import { exportRegistry } from '../../storage/registry/registry-export.ts';
import type { RegistryTables } from '../../storage/registry/registry-tables.ts';
import { explainIssues, refuse, type DirectoryRoute } from '../ops/admin-route.ts';

/** Of a backup: it has no more bytes. */
export const backupRoomHeader = 'x-backup-bytes-max';

const exportQuery = z.strictObject({
  form: z.enum(['document', 'ndjson']),
  with_secrets: z.stringbool(),
});

export function directoryRoutes(directory: string, tables: RegistryTables, clock: Clock): DirectoryRoute[] {
  return [
    {
      method: 'GET',
      path: '/v1/backup',
      open: async () => {
        const { bytesMax, pieces } = await backupInWorker({ directory, nowMs: clock.wallMs() });
        return { pieces, headers: { [backupRoomHeader]: String(bytesMax) } };
      },
    },
    {
      method: 'GET',
      path: '/v1/registry/export',
      open: async ({ query }) => {
        const asked = exportQuery.safeParse(Object.fromEntries(query));
        if (!asked.success) return refuse(400, explainIssues(asked.error, 'query'));
        const { form, with_secrets: withSecrets } = asked.data;
        return { pieces: Readable.from(exportRegistry(tables, { form, withSecrets })), headers: {} };
      },
    },
  ];
}
