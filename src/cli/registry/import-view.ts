/** An import as text for people: how far it is, what it has done, and what it would delete. */
import { kindNames, listNames, shownId, type KindName } from '../../storage/registry/registry-kinds.ts';
import type { ImportReportJson } from '../../gateways/admin/import-query.ts';
import type { Clock } from '../../lib/clock.ts';
import { counted, restInWords } from '../shell/option-values.ts';
import { alignColumns } from '../shell/output.ts';
import type { FileProgress } from '../admin/ops-client.ts';

const verbs = { uploading: 'uploading', reading: 'importing', deleting: 'deleting' } as const;

/** `importing: 42 %, 400000 entries, 45000 entries/s, 12 seconds left`. */
export class ImportPace {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #phase: FileProgress['phase'] | null = null;
  #startedMs = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
  }

  describe(progress: FileProgress): string {
    const nowMs = this.#clock.monotonicMs();
    // A phase is first heard of when some of it is done, and begins when the one before it ends.
    if (this.#phase !== null && this.#phase !== progress.phase) this.#startedMs = nowMs;
    this.#phase = progress.phase;
    const elapsedMs = nowMs - this.#startedMs;
    const parts = [`${Math.floor(progress.share * 100)} %`];
    if (progress.phase !== 'uploading') parts.push(`${progress.entries} entries`);
    if (progress.phase !== 'uploading' && elapsedMs > 0)
      parts.push(`${entriesPerSecond(progress.entries, elapsedMs)} entries/s`);
    const rest = restInWords(progress.share, elapsedMs);
    if (rest !== null) parts.push(rest);
    return `${verbs[progress.phase]}: ${parts.join(', ')}`;
  }
}

export function entriesPerSecond(entries: number, elapsedMs: number): number {
  return Math.round(entries / Math.max(elapsedMs / 1000, 0.001));
}

/** Kinds of which the file has nothing, and of which nothing goes, are left out. */
export function describeChanges({ changes }: ImportReportJson): string {
  const rows = kindNames
    .map((kind): [string, number[]] => {
      const { added, changed, deleted, unchanged } = changes[kind];
      return [listNames[kind], [added, changed, deleted, unchanged]];
    })
    .filter(([, counts]) => counts.some((count) => count > 0))
    .map(([list, counts]) => [list, ...counts.map(String)]);
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

export function describeImported({ counts }: ImportReportJson, elapsedMs: number): string {
  const entries = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const pace = entriesPerSecond(entries, elapsedMs);
  return `imported ${describeCounts(counts)} in ${(elapsedMs / 1000).toFixed(1)} s (${pace} entries/s)`;
}

/** `2 applications, 1 device`; kinds without an entry are left out. */
export function describeCounts(counts: Readonly<Record<KindName, number>>): string {
  const parts = kindNames
    .filter((kind) => counts[kind] > 0)
    .map((kind) => counted(counts[kind], kind, listNames[kind]));
  return parts.length === 0 ? 'nothing' : parts.join(', ');
}
