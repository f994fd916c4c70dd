/** A figure as it is reported: what was measured and how, a table, and each target with whether it is met. */
import type { Samples, Spread } from './samples.ts';

export interface Column {
  readonly metric: string;
  readonly title: string;
  readonly digits: number;
}

export interface Target {
  readonly what: string;
  readonly measured: Spread;
  /** `at most` or `at least` the bound. Null: shown without a target. */
  readonly bound: { readonly kind: 'at most' | 'at least'; readonly value: number } | null;
  readonly digits: number;
}

export interface Figure {
  readonly name: string;
  readonly title: string;
  /** How it was measured, a sentence each. */
  readonly notes: readonly string[];
  readonly columns: readonly Column[];
  readonly samples: Samples;
  readonly targets: readonly Target[];
  readonly trouble: readonly string[];
}

/** Markdown for a terminal. */
export function describeFigure(figure: Figure, judges: boolean): string {
  const { name, title } = figure;
  return [`## ${title}`, `\`npm run bench:load -- ${name}\``, describeResults(figure, judges)].join('\n\n');
}

/** What was measured and how, as it stands in docs/benchmarks.md. A column that nobody has is left out. */
export function describeResults(figure: Figure, judges: boolean): string {
  const { notes, samples, targets, trouble } = figure;
  const columns = figure.columns.filter(({ metric }) =>
    samples.servers.some((server) => samples.spread(server, metric) !== null),
  );
  const rows = samples.servers.map((server) => [
    server,
    ...columns.map(({ metric, digits }) => formatSpread(samples.spread(server, metric), digits)),
  ]);
  return [
    notes.map((note) => `- ${note}`).join('\n'),
    table(['server', ...columns.map((column) => column.title)], rows),
    ...(targets.length > 0 ? [describeTargets(targets, judges)] : []),
    ...trouble.map((what) => `**Wrong:** ${what}`),
  ].join('\n\n');
}

function describeTargets(targets: readonly Target[], judges: boolean): string {
  if (!judges) return '(a smoke run: counts too small to judge)';
  return table(['compared', 'measured', 'target', ''], targets.map(describeTarget));
}

export function isMet({ measured, bound }: Target): boolean | null {
  if (bound === null) return null;
  return bound.kind === 'at most' ? measured.median <= bound.value : measured.median >= bound.value;
}

function describeTarget(target: Target): string[] {
  const { what, measured, bound, digits } = target;
  const met = isMet(target);
  const verdict = met === null ? '' : met ? 'met' : '**missed**';
  const asked = bound === null ? 'shown' : `${bound.kind === 'at most' ? '≤' : '≥'} ${bound.value}`;
  return [what, formatSpread(measured, digits), asked, verdict];
}

function formatSpread(spread: Spread | null, digits: number): string {
  if (spread === null) return '';
  const show = (value: number): string => formatNumber(value, digits);
  const { median, min, max } = spread;
  return min === max ? show(median) : `${show(median)} (${show(min)}–${show(max)})`;
}

export function formatNumber(value: number, digits: number): string {
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
