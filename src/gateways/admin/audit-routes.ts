/** Serves the lines of the audit log: the newest, or with `after` the ones that follow, for `--follow`. */
import { z } from 'zod';
import { SerialQueue } from '../../lib/collections/queues.ts';
import type { AuditLine } from '../../model/audit.ts';
import type { Clock } from '../../lib/clock.ts';
import { auditResultMsMax } from '../../model/limits.ts';
import { AuditFiles, type AuditPlace } from '../../storage/audit/audit-files.ts';
import { readRoute, type AdminRoute } from '../ops/admin-route.ts';

export const auditShownMax = 10_000;

interface AuditFilter {
  readonly limit: number;
  /** Start time, wall milliseconds. */
  readonly since?: number | undefined;
  /** Actions, or prefixes that end in `*`. */
  readonly action?: readonly string[] | undefined;
  readonly operator?: string | undefined;
}

export interface AuditAnswer {
  /** Oldest first. */
  readonly lines: readonly AuditLine[];
  /** Passed back as `after`, it misses and repeats no line. */
  readonly next: string;
}

const placeForm = /^(\d{1,20}):(\d{1,15})$/;

const auditQuery = z.strictObject({
  limit: z.coerce.number().int().min(0).max(auditShownMax).default(50),
  since: z.coerce.number().int().nonnegative().optional(),
  /** Separated by commas. */
  action: z
    .string()
    .transform((text) => text.split(','))
    .optional(),
  operator: z.string().optional(),
  after: z
    .string()
    .regex(placeForm, 'the value of next in an earlier answer')
    .transform((text): AuditPlace => {
      const [inode = 0, offset = 0] = text.split(':').map(Number);
      return { inode, offset };
    })
    .optional(),
});

/** Reads the files one request at a time: they may hold 128 MiB. */
export function auditRoutes(directory: string, clock: Pick<Clock, 'wallMs'>): AdminRoute[] {
  const readings = new SerialQueue();
  return [
    readRoute('/v1/audit', auditQuery, ({ after, ...filter }) =>
      readings.run(async () => {
        const files = new AuditFiles(directory, after);
        try {
          const body: AuditAnswer =
            after === undefined
              ? { lines: await readNewest(files, filter), next: placeText(files.end) }
              : await readBehind(files, filter, clock.wallMs());
          return body;
        } finally {
          await files.close();
        }
      }),
    ),
  ];
}

function placeText({ inode, offset }: AuditPlace): string {
  return `${inode}:${offset}`;
}

/** Stops before a change that is under way, so that the next read shows it once, with its result. */
async function readBehind(files: AuditFiles, filter: AuditFilter, nowMs: number): Promise<AuditAnswer> {
  const lines: AuditLine[] = [];
  for await (const { line, place } of files.read()) {
    if (lines.length >= filter.limit || isUnderWay(line, nowMs)) return { lines, next: placeText(place) };
    if (isWanted(line, filter)) lines.push(line);
  }
  return { lines, next: placeText(files.end) };
}

/** A change that takes longer, or whose server was killed, is shown without a result. */
function isUnderWay({ result, at }: AuditLine, nowMs: number): boolean {
  return result === 'unknown' && Math.abs(nowMs - Date.parse(at)) < auditResultMsMax;
}

/** The newest matching lines, oldest first. */
async function readNewest(files: AuditFiles, filter: AuditFilter): Promise<AuditLine[]> {
  const newest: AuditLine[] = [];
  for await (const { line } of files.read()) {
    if (isWanted(line, filter)) newest.push(line);
    if (newest.length > filter.limit) newest.shift();
  }
  return newest;
}

function isWanted(
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
