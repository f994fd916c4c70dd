/**
 * `POST /v1/registry/import?…`: the body is a registry file, the query holds the options. The answer is a sequence of lines:
 * progress, then one `{result}` or `{error}`. This module encodes and parses both, for server and command line.
 */
import { z } from 'zod';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { Counts, DeletionLimit } from '../../storage/registry/import-changes.ts';
import type { ImportProgress, ImportReport, ImportRequest } from '../../storage/registry/registry-import.ts';
import { isKindName, kindNames } from '../../storage/registry/registry-kinds.ts';
import { explainIssues } from '../ops/admin-route.ts';

export type ImportTerms = Required<Pick<ImportRequest, 'replace' | 'deletions' | 'dryRun'>>;

export interface ImportQuery extends ImportTerms {
  /** The name by which the caller may cancel the import; null: it cannot be cancelled. */
  readonly importId: string | null;
}

/** `deleted`: the number of deleted entries by kind; absent: none. */
export type ImportReportJson = Pick<ImportReport, 'counts' | 'sha256' | 'changes'> & {
  readonly dry_run: boolean;
  readonly deleted?: Readonly<Partial<Counts>>;
  readonly deleted_ids: ImportReport['deletedIds'];
};

export interface ImportLine {
  readonly progress?: ImportProgress;
  readonly result?: ImportReportJson;
  readonly error?: string;
}

export const importIdField = z.string().min(1).max(64);
const flag = z.enum(['true', 'false']).default('false');
const countForm = /^([a-z]+):(\d{1,15})$/;

const deletionsField = z
  .string()
  .default('few')
  .transform((text, context): DeletionLimit => {
    if (text === 'few' || text === 'any') return text;
    const confirmed: Partial<Counts> = {};
    for (const part of text === 'none' ? [] : text.split(',')) {
      const [, kind, count] = countForm.exec(part) ?? [];
      if (isKindName(kind)) confirmed[kind] = Number(count);
      else context.addIssue('few, any, none, or counts such as device:12,webhook:1');
    }
    return confirmed;
  });

const querySchema = z.strictObject({
  replace: flag,
  dry_run: flag,
  deletions: deletionsField,
  import: importIdField.optional(),
});

export function parseImportQuery(query: URLSearchParams): Result<ImportQuery, string> {
  const parsed = querySchema.safeParse(Object.fromEntries(query));
  if (!parsed.success) return fail(explainIssues(parsed.error, 'query'));
  const { replace, dry_run: dryRun, deletions, import: importId = null } = parsed.data;
  return succeed({ replace: replace === 'true', dryRun: dryRun === 'true', deletions, importId });
}

export function encodeImportQuery({ replace, dryRun, deletions, importId }: ImportQuery): URLSearchParams {
  return new URLSearchParams({
    replace: String(replace),
    dry_run: String(dryRun),
    deletions: typeof deletions === 'string' ? deletions : encodeCounts(deletions),
    ...(importId !== null && { import: importId }),
  });
}

function encodeCounts(counts: Readonly<Partial<Counts>>): string {
  return kindNames.flatMap((kind) => (counts[kind] ? [`${kind}:${counts[kind]}`] : [])).join(',') || 'none';
}

export function encodeImportReport(report: ImportReport): ImportReportJson {
  const { counts, sha256, changes, dryRun, deletedIds } = report;
  const kinds = kindNames.filter((kind) => changes[kind].deleted > 0);
  const deleted = Object.fromEntries(kinds.map((kind) => [kind, changes[kind].deleted]));
  const json = { counts, sha256, dry_run: dryRun, changes, deleted_ids: deletedIds };
  return kinds.length === 0 ? json : { ...json, deleted };
}
