/** Formats an import for people: its progress, its result, and the entries that it would delete. */
import { kindNames, listNames, shownId, type KindName } from '../../storage/registry/registry-kinds.ts';
import type { ImportReportJson } from '../../gateways/admin/import-query.ts';
import { counted } from '../shell/option-values.ts';
import { alignColumns } from '../shell/output.ts';
import type { Pace } from '../shell/pace.ts';
import type { FileProgress } from '../admin/ops-client.ts';

const verbs = { uploading: 'uploading', reading: 'importing', deleting: 'deleting' } as const;

export function describeProgress(pace: Pace, progress: FileProgress): string {
  const entries = progress.phase === 'uploading' ? [] : [`${progress.entries} entries`];
  return pace.describe(verbs[progress.phase], progress.share, ...entries);
}

/** Omits kinds without changes. */
export function describeChanges({ changes }: ImportReportJson): string {
  const rows = kindNames
    .filter((kind) => Object.values(changes[kind]).some((count) => count > 0))
    .map((kind) => {
      const { added, changed, deleted, unchanged } = changes[kind];
      return [listNames[kind], added, changed, deleted, unchanged];
    });
  return rows.length === 0
    ? 'nothing changes'
    : alignColumns([['', 'ADDED', 'CHANGED', 'DELETED', 'UNCHANGED'], ...rows]);
}

/** `3 devices (A, B, C), 1 webhook (…)`; null: nothing. */
export function describeDeleted({ deleted, deleted_ids: ids }: ImportReportJson): string | null {
  const parts = kindNames.flatMap((kind) => {
    const count = deleted?.[kind] ?? 0;
    if (count === 0) return [];
    const shown = (ids[kind] ?? []).map(shownId);
    const names = shown.length < count ? [...shown, '…'] : shown;
    return [`${counted(count, kind)} (${names.join(', ')})`];
  });
  return parts.length === 0 ? null : parts.join(', ');
}

export function describeImported({ counts }: ImportReportJson, seconds: number): string {
  const entries = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const pace = Math.round(entries / Math.max(seconds, 0.001));
  return `imported ${describeCounts(counts)} in ${seconds.toFixed(1)} s (${pace} entries/s)`;
}

/** `2 applications, 1 device`; omits kinds without entries. */
export function describeCounts(counts: Readonly<Record<KindName, number>>): string {
  const parts = kindNames
    .filter((kind) => counts[kind] > 0)
    .map((kind) => counted(counts[kind], kind, listNames[kind]));
  return parts.length === 0 ? 'nothing' : parts.join(', ');
}
