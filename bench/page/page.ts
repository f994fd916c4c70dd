/**
 * `docs/benchmarks.md` and its plots, from the results that are committed: what stands between two marks of a page is made, the
 * rest is written by hand. `npm run bench:page` writes them; a test compares them with what is there.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { checkout } from '../../test/support/checkout.ts';
import { describeResults } from '../load/figure.ts';
import type { Figure } from '../load/figure.ts';
import { describeHeadlines } from './headlines.ts';
import { drawPlots, figureOfPlot } from './plots.ts';
import { describeSizing } from './sizing.ts';
import { readResults, type Result } from './results.ts';

export const resultsFolder = fileURLToPath(new URL('bench/results', checkout));
/** Those that have made parts. */
const pages = ['docs/benchmarks.md', 'docs/cluster.md'];
const plotsFolder = 'docs/benchmarks';

/** Text by path from the root, all that is to be there. */
export async function makePages(folder = resultsFolder): Promise<Map<string, string>> {
  const results = readResults(folder);
  const figures = new Map([...results].map(([name, { figure }]) => [name, figure]));
  const made = new Map<string, string>();
  for (const page of pages) made.set(page, await fillPage(page, results, figures));
  for (const [file, svg] of drawPlots(figures)) made.set(`${plotsFolder}/${file}`, svg);
  return made;
}

const notMeasured = 'Not measured yet.';
const marked = /(<!-- made: ([\w -]+) -->\n)[\s\S]*?(<!-- end -->)/g;

async function fillPage(
  page: string,
  results: ReadonlyMap<string, Result>,
  figures: ReadonlyMap<string, Figure>,
): Promise<string> {
  const path = fileURLToPath(new URL(page, checkout));
  const text = readFileSync(path, 'utf8');
  const filled = text.replaceAll(marked, (_, begin: string, name: string, end: string) => {
    return `${begin}\n${makePart(name, results, figures)}\n\n${end}`;
  });
  return format(filled, { ...(await resolveConfig(path)), parser: 'markdown' });
}

function makePart(
  name: string,
  results: ReadonlyMap<string, Result>,
  figures: ReadonlyMap<string, Figure>,
): string {
  if (name === 'about') return describeOrigin([...results.values()]);
  if (name === 'headlines') return describeHeadlines(figures);
  if (name.startsWith('plot ')) return describePlot(name.replace('plot ', ''), figures);
  if (name === 'sizing') return describeSizing(figures);
  const result = results.get(name.replace('figure ', ''));
  return result === undefined ? notMeasured : describeFigureOf(result);
}

function describePlot(name: string, figures: ReadonlyMap<string, Figure>): string {
  const figure = figures.get(figureOfPlot(name));
  if (figure === undefined) return notMeasured;
  return `![${figure.title}: a plot of the table below](benchmarks/${name}.svg)`;
}

/** Of one commit on one machine; where it is not so, the page says so. */
function describeOrigin(results: readonly Result[]): string {
  const commits = unique(results.map(({ commit }) => commit));
  const dates = unique(results.map(({ date }) => date.slice(0, 10))).toSorted();
  const [first, last] = [dates[0] ?? '', dates.at(-1) ?? ''];
  const lines = [
    `- **Commit**: ${commits.map((commit) => `\`${commit}\``).join(', ')}, measured ${first === last ? first : `${first} to ${last}`}.`,
    `- **Machine**: ${unique(results.map(({ machine }) => machine)).join('; ')}.`,
  ];
  const isProvisional = commits.length > 1 || results.some((result) => result.isProvisional);
  if (isProvisional)
    lines.push(
      '- **Provisional**: few runs, partly beside other work, or of several commits. Ratios of one figure were measured together; ' +
        'don’t compare figures with each other.',
    );
  return lines.join('\n');
}

function describeFigureOf({ figure, runs, commit, isProvisional }: Result): string {
  const how = runs === 1 ? 'one run' : `medians of ${runs} runs (least–most)`;
  return [
    `\`npm run bench:load -- ${figure.name}\`; ${how}${isProvisional ? `, provisional, of \`${commit}\`` : ''}`,
    describeResults(figure, true),
  ].join('\n\n');
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
