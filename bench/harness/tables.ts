/** Samples and targets as Markdown tables. */
import type { Benchmark, Target } from './benchmark.ts';
import type { Samples, Spread } from './samples.ts';

/** The medians of a benchmark's rows; a column without any value is omitted. */
export function describeRows({ columns }: Benchmark, samples: Samples): string {
  const shown = columns.filter(({ metric }) => samples.rows.some((row) => samples.spread(row, metric)));
  const rows = samples.rows.map((row) => [
    row,
    ...shown.map(({ metric, digits }) => formatMedian(samples.spread(row, metric), digits)),
  ]);
  return table(['', ...shown.map(({ title }) => title)], rows);
}

export const targetHead = ['', 'ours', 'peer or floor', 'compared', 'target'] as const;

/** A row for each target that was measured. */
export function targetRows({ targets }: Benchmark, samples: Samples): string[][] {
  return targets.flatMap((target) => {
    const { what, row, metric, unit, compared, bound } = target;
    const measured = measureTarget(target, samples);
    if (measured === null) return [];
    return [
      [
        what,
        showMedian(samples.spread(row, metric), unit),
        compared.kind === 'alone' ? '' : showMedian(samples.spread(compared.row, metric), unit),
        compared.kind === 'alone' ? '' : formatCompared(measured, compared.kind, unit),
        describeVerdict(measured.median, bound),
      ],
    ];
  });
}

function measureTarget({ row, metric, compared }: Target, samples: Samples): Spread | null {
  if (compared.kind === 'alone') return samples.spread(row, metric);
  const combine = compared.kind === 'ratio to' ? divide : subtract;
  return samples.compare(metric, [row, compared.row], combine);
}

function divide(ours: number, theirs: number): number {
  return ours / theirs;
}

function subtract(ours: number, theirs: number): number {
  return ours - theirs;
}

function describeVerdict(measured: number, bound: Target['bound']): string {
  if (bound === null) return '';
  const { kind, value } = bound;
  const isMet = kind === 'at most' ? measured <= value : measured >= value;
  return `${kind === 'at most' ? '≤' : '≥'} ${value} ${isMet ? 'met' : '**missed**'}`;
}

/** The median, with the least and the most of the runs. */
function formatCompared(
  { median, min, max }: Spread,
  kind: 'ratio to' | 'difference from',
  unit: string,
): string {
  if (kind === 'difference from') return `${median < 0 ? '' : '+'}${formatNumber(median, 1)} ${unit}`;
  const range = min === max ? '' : ` (${min.toFixed(2)}–${max.toFixed(2)})`;
  return median.toFixed(2) + range;
}

const digitsShown = 3;

/** Three digits, and all digits before the point. */
function showMedian(spread: Spread | null, unit: string): string {
  if (spread === null) return '';
  const { median } = spread;
  const whole = Math.floor(Math.log10(Math.abs(median) || 1)) + 1;
  const digits = Number.isInteger(median) ? 0 : Math.max(0, digitsShown - whole);
  return `${formatNumber(median, digits)}${unit === '' || unit.startsWith('/') ? unit : ` ${unit}`}`;
}

function formatMedian(spread: Spread | null, digits: number): string {
  return spread === null ? '' : formatNumber(spread.median, digits);
}

export function formatNumber(value: number, digits: number): string {
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
