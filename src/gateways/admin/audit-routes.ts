/** The newest lines of the audit log, for operators elsewhere; who is on this machine reads the files. */
import { z } from 'zod';
import { SerialQueue } from '../../lib/queues.ts';
import type { AuditLine } from '../../model/audit.ts';
import { AuditFiles } from '../../storage/audit/audit-files.ts';
import { readRoute, type AdminRoute } from '../ops/admin-route.ts';

export const auditShownMax = 10_000;

/** The lines that are asked for. */
export interface AuditFilter {
  /** The newest so many. */
  readonly limit: number;
  /** Wall milliseconds to begin at. */
  readonly since?: number | undefined;
  /** Actions, or beginnings of some and `*`. */
  readonly action?: readonly string[] | undefined;
  /** The name of a token, or of a user of the system. */
  readonly operator?: string | undefined;
}

export interface AuditAnswer {
  /** Oldest first. */
  readonly lines: readonly AuditLine[];
}

const auditQuery = z.strictObject({
  limit: z.coerce.number().int().min(0).max(auditShownMax).default(50),
  since: z.coerce.number().int().nonnegative().optional(),
  /** With commas between them. */
  action: z
    .string()
    .transform((text) => text.split(','))
    .optional(),
  operator: z.string().optional(),
});

/** The files are read once at a time: there may be 128 MiB of them. */
export function auditRoutes(directory: string): AdminRoute[] {
  const readings = new SerialQueue();
  return [
    readRoute('/v1/audit', auditQuery, (filter) =>
      readings.run(async () => {
        const files = new AuditFiles(directory);
        try {
          const body: AuditAnswer = { lines: await readNewest(files, filter) };
          return { status: 200, body };
        } finally {
          await files.closeOld(0);
        }
      }),
    ),
  ];
}

/** The newest lines that are wanted, oldest first. */
export async function readNewest(files: AuditFiles, filter: AuditFilter): Promise<AuditLine[]> {
  const newest: AuditLine[] = [];
  for await (const { line } of files.read()) {
    if (isWanted(line, filter)) newest.push(line);
    if (newest.length > filter.limit) newest.shift();
  }
  return newest;
}

export function isWanted(
  line: AuditLine,
  { since = -Infinity, operator, action }: Omit<AuditFilter, 'limit'>,
): boolean {
  return (
    Date.parse(line.at) >= since &&
    (operator === undefined || line.operator === operator || line.user === operator) &&
    (action === undefined || action.some((pattern) => isLike(line.action, pattern)))
  );
}

function isLike(action: string, pattern: string): boolean {
  return pattern.endsWith('*') ? action.startsWith(pattern.slice(0, -1)) : action === pattern;
}
