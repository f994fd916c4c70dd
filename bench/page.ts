/**
 * The pages with benchmark figures, and their drawing: the text between two marks is generated from the stored results, the rest is handwritten.
 * `npm run bench -- --page` writes the pages; a test compares them.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { checkout } from '../test/support/checkout.ts';
import { benchmarks } from './benchmarks.ts';
import { drawGrowth } from './growth-drawing.ts';
import { describeRows, table, targetHead, targetRows } from './harness/tables.ts';
import { describeFrontFigures, describeKeyFigures } from './key-figures.ts';
import { readResult } from './results.ts';

export const pagePath = 'docs/reference/benchmarks.md';
const drawingPath = 'docs/images/growth.svg';
export const madePages: readonly string[] = [pagePath, 'README.md', drawingPath];

const marked = /(<!-- made: ([\w-]+) -->\n)[\s\S]*?(<!-- end -->)/g;

/** `page`: one of `madePages`. Throws on a mark of an unknown part. */
export async function makePage(page: string): Promise<string> {
  if (page === drawingPath) return drawGrowth();
  const path = fileURLToPath(new URL(page, checkout));
  const filled = readFileSync(path, 'utf8').replaceAll(
    marked,
    (_, begin: string, part: string, end: string) => `${begin}\n${describePart(part)}\n\n${end}`,
  );
  return format(filled, { ...(await resolveConfig(path)), parser: 'markdown' });
}

export async function writePages(): Promise<void> {
  for (const page of madePages) writeFileSync(new URL(page, checkout), await makePage(page));
}

const parts: Readonly<Record<string, () => string>> = {
  'front-figures': describeFrontFigures,
  'key-figures': describeKeyFigures,
  targets: describeTargets,
  benchmarks: describeBenchmarks,
};

function describePart(part: string): string {
  const describe = parts[part];
  if (describe === undefined) throw new Error(`no part of a page is called ${part}`);
  return describe();
}

function describeTargets(): string {
  const rows = Object.entries(benchmarks).flatMap(([name, benchmark]) => {
    const result = readResult(name);
    return result === null ? [] : targetRows(benchmark, result.samples);
  });
  const outcomes = rows.map((row) => row.at(-1)).filter((outcome) => outcome !== '');
  const met = outcomes.filter((outcome) => outcome === 'met').length;
  return `${met} of ${outcomes.length} targets are met.\n\n${table(targetHead, rows)}`;
}

function describeBenchmarks(): string {
  const described = Object.entries(benchmarks).map(([name, benchmark]) => {
    const { title, notes } = benchmark;
    const head = `### ${title}\n\n\`npm run bench -- ${name}\``;
    const how = notes.map((note) => `- ${note}`).join('\n');
    const result = readResult(name);
    if (result === null) return `${head}; not measured yet.\n\n${how}`;
    const { runs, commit, date, samples } = result;
    const taken = runs === 1 ? 'one run' : `medians of ${runs} runs`;
    return `${head}; ${taken} of \`${commit}\`, ${date}.\n\n${how}\n\n${describeRows(benchmark, samples)}`;
  });
  return described.join('\n\n');
}
