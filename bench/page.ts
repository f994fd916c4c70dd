/**
 * The page of the benchmarks: the text between two marks is made of the stored results, the rest is written by hand.
 * `npm run bench -- --page` writes it; a test compares it.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { checkout } from '../test/support/checkout.ts';
import { benchmarks } from './benchmarks.ts';
import { describeRows, table, targetHead, targetRows } from './harness/tables.ts';
import { readResult } from './results.ts';

export const pagePath = 'docs/reference/benchmarks.md';

const marked = /(<!-- made: ([\w-]+) -->\n)[\s\S]*?(<!-- end -->)/g;

export async function makePage(): Promise<string> {
  const path = fileURLToPath(new URL(pagePath, checkout));
  const filled = readFileSync(path, 'utf8').replaceAll(
    marked,
    (_, begin: string, part: string, end: string) => `${begin}\n${parts[part]?.() ?? ''}\n\n${end}`,
  );
  return format(filled, { ...(await resolveConfig(path)), parser: 'markdown' });
}

const parts: Readonly<Record<string, () => string>> = {
  headlines: describeHeadlines,
  benchmarks: describeBenchmarks,
};

function describeHeadlines(): string {
  const rows = Object.entries(benchmarks).flatMap(([name, benchmark]) => {
    const result = readResult(name);
    return result === null ? [] : targetRows(benchmark, result.samples);
  });
  return table(targetHead, rows);
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
