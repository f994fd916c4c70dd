/** Formats samples and targets as Markdown tables. */
import type { Benchmark, Target } from './benchmark.ts';
import type { Measured, Samples, Spread } from './samples.ts';

/** Medians of a benchmark's rows; columns without values are omitted. */
export function describeRows({ columns }: Benchmark, samples: Samples): string {
  const shown = columns.filter(({ metric }) => samples.rows.some((row) => samples.spread(row, metric)));
  const rows = samples.rows.map((row) => [
    row,
    ...shown.map(({ metric, digits }) => formatMedian(samples.spread(row, metric), digits)),
  ]);
  return table(['', ...shown.map(({ title }) => title)], rows);
}

export const targetHead = [
  '',
  'ours',
  'peer or floor',
  'ratio or difference',
  'range of single runs',
  'target',
  '',
] as const;

/** A row per measured target; ratio and verdict follow from the cells before them. */
export function targetRows({ targets }: Benchmark, samples: Samples): string[][] {
  return targets.flatMap((target) => {
    const { what, unit, compared, bound } = target;
    const ours = findShown(samples, target);
    if (ours === null) return [];
    if (compared.kind === 'alone')
      return [[what, formatShown(ours, unit), '', '', '', ...describeVerdict(ours.value, bound)]];
    const theirs = { metric: target.metric, ...compared };
    const peer = findShown(samples, theirs);
    if (peer === null) return [];
    const combine = compared.kind === 'ratio to' ? divide : subtract;
    const measured = combine(ours.value, peer.value);
    const digits = compared.kind === 'ratio to' ? ratioDigits : Math.max(ours.digits, peer.digits);
    const sign = compared.kind === 'difference from' && measured >= 0 ? '+' : '';
    return [
      [
        what,
        formatShown(ours, unit),
        formatShown(peer, unit),
        sign + formatShown({ value: measured, digits }, compared.kind === 'ratio to' ? '' : unit),
        formatRange(samples.compare(target, theirs, combine), digits),
        ...describeVerdict(measured, bound),
      ],
    ];
  });
}

const ratioDigits = 2;

function divide(ours: number, theirs: number): number {
  return ours / theirs;
}

function subtract(ours: number, theirs: number): number {
  return ours - theirs;
}

function describeVerdict(measured: number, bound: Target['bound']): [bound: string, outcome: string] {
  if (bound === null) return ['', ''];
  const { kind, value } = bound;
  const isMet = kind === 'at most' ? measured <= value : measured >= value;
  return [`${kind === 'at most' ? '≤' : '≥'} ${value}`, isMet ? 'met' : '**missed**'];
}

/** Minimum and maximum of the runs; empty for a single run. */
function formatRange(spread: Spread | null, digits: number): string {
  if (spread === null || spread.min === spread.max) return '';
  return `${formatNumber(spread.min, digits)}–${formatNumber(spread.max, digits)}`;
}

/** A rounded median; quotients are computed from rounded values, as the reader sees them. */
interface Shown {
  readonly value: number;
  readonly digits: number;
}

const digitsShown = 3;

/** Three significant digits, and all digits before the point. Null: the row does not have the metric. */
function findShown(samples: Samples, { row, metric }: Measured): Shown | null {
  const spread = samples.spread(row, metric);
  if (spread === null) return null;
  const { median } = spread;
  const whole = Math.floor(Math.log10(Math.abs(median) || 1)) + 1;
  const digits = Number.isInteger(median) ? 0 : Math.max(0, digitsShown - whole);
  return { value: Number(median.toFixed(digits)), digits };
}

function formatShown({ value, digits }: Shown, unit: string): string {
  return `${formatNumber(value, digits)}${unit === '' || unit.startsWith('/') ? unit : ` ${unit}`}`;
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
