/** Runs benchmarks: `npm run bench -- --help`. */
import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { checkout } from '../test/support/checkout.ts';
import { baselinePath, slowdownMax } from './baseline.ts';
import { benchmarks } from './benchmarks.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { loadCore, pinning, serverCore } from './harness/child.ts';
import { describeRows, table, targetHead, targetRows } from './harness/tables.ts';
import { madePages, pagePath, writePages } from './page.ts';
import { writeResult } from './results.ts';
import { runBenchmark } from './run-benchmark.ts';
import { checkWatched, isWatched, saveBaseline } from './short-check.ts';

const baselineRuns = 5;

const usage = `npm run bench
npm run bench -- NAME ... | --all [--runs N] [--save | --short | --smoke | --save-baseline]
npm run bench -- --page

Without arguments: measures each hot path for a few seconds beside a peer, in a minute, and compares the ratios with
${baselinePath}; one that is ${slowdownMax} times as large, and again in the median of three
more runs, is an error. With names: measures these benchmarks over real
sockets, and prints what ${pagePath} shows; a missed target is no error. A wrong answer, a lost session or a missing event is one.

  --all            every benchmark: an hour
  --runs N         so many runs instead of the benchmark's own number
  --save           stores the results in bench/results and does --page; needs a committed tree
  --short          what a call without arguments does; default names: those with a baseline
  --save-baseline  stores the ratios of --short, medians of ${baselineRuns} runs, in ${baselinePath}
  --smoke          one run with a small load, to see whether every answer is right; default names: those without a baseline
  --page           fills ${madePages.join(', ')} with the stored results

${Object.entries(benchmarks)
  .map(([name, { title, watched }]) => `  ${name.padEnd(12)} ${watched === undefined ? ' ' : '*'} ${title}`)
  .join('\n')}

  * has a baseline`;

/** Timeout of a run; ends the benchmark and its processes. */
const minutesPerRunMax = 15;
const smokeMinutesMax = 4;

const modes = ['help', 'page', 'save', 'short', 'save-baseline', 'smoke'] as const;

interface Options {
  readonly names: readonly string[];
  readonly runs: number | null;
  readonly mode: (typeof modes)[number] | 'print';
}

function readOptions(): Options {
  const flag = { type: 'boolean', default: false } as const;
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      runs: { type: 'string' },
      all: flag,
      save: flag,
      short: flag,
      'save-baseline': flag,
      smoke: flag,
      page: flag,
      help: flag,
    },
  });
  const asked = modes.filter((mode) => values[mode]);
  if (asked.length > 1) throw new Error(`--${asked.join(' and --')} exclude each other`);
  const unknown = positionals.find((name) => !Object.hasOwn(benchmarks, name));
  if (unknown !== undefined) throw new Error(`unknown benchmark: ${unknown}`);
  const runs = values.runs === undefined ? null : Number(values.runs);
  if (runs !== null && !(Number.isInteger(runs) && runs > 0))
    throw new Error('--runs must be an integer of at least 1');
  const isNamed = values.all || positionals.length > 0;
  const mode = asked[0] ?? (isNamed ? 'print' : 'short');
  if (mode === 'save' && !isNamed) throw new Error('--save needs names or --all');
  return { names: positionals.length > 0 ? positionals : namesOf(mode, values.all), runs, mode };
}

function namesOf(mode: Options['mode'], isAll: boolean): string[] {
  const isShort = mode === 'short' || mode === 'save-baseline';
  return Object.entries(benchmarks)
    .filter(([, benchmark]) => (isAll && !isShort) || isWatched(benchmark) === isShort)
    .map(([name]) => name);
}

function describeMachine(): string {
  const gibibytes = Math.round(totalmem() / 1024 ** 3);
  const pinned = pinning
    ? `servers pinned to core ${serverCore}, their load to core ${loadCore}`
    : 'nothing pinned: no taskset, or one core only';
  return `${availableParallelism()} cores (${cpus()[0]?.model}), ${gibibytes} GiB, Node ${process.versions.node}; ${pinned}`;
}

function git(...parameters: string[]): string {
  return execFileSync('git', parameters, { encoding: 'utf8', cwd: checkout }).trim();
}

/** Refuses uncommitted changes, because results belong to a commit. */
function refuseChanges(): void {
  const changed = git('status', '--porcelain', '--', '.', ':!bench/results', ':!docs', ':!README.md');
  if (changed !== '') throw new Error(`--save measures a commit; there are changes:\n${changed}`);
}

/** False: an error made the numbers invalid. */
async function measureOne(
  name: string,
  benchmark: Benchmark,
  { mode, runs: asked }: Options,
): Promise<boolean> {
  const isSmoke = mode === 'smoke';
  const runs = asked ?? (isSmoke ? 1 : benchmark.runs);
  const startMs = performance.now();
  const samples = await runBenchmark(name, isSmoke ? smokeMinutesMax : minutesPerRunMax * runs, (taken) =>
    benchmark.measure({ scale: isSmoke ? 'smoke' : 'full', runs, rows: null, ...taken }),
  );
  if (samples === null) return false;
  const seconds = Math.round((performance.now() - startMs) / 1000);
  console.log(`## ${benchmark.title}\n\n${name}, ${runs} run${runs === 1 ? '' : 's'}, ${seconds} s\n`);
  console.log(`${describeRows(benchmark, samples)}\n`);
  const compared = targetRows(benchmark, samples);
  if (!isSmoke) console.log(`${table(targetHead, compared)}\n`);
  if (samples.rows.length === 0 || (!isSmoke && compared.length < benchmark.targets.length))
    throw new Error(`${name}: not every target was measured`);
  if (mode === 'save') {
    const about = {
      commit: git('rev-parse', '--short=10', 'HEAD'),
      date: new Date().toISOString().slice(0, 10),
    };
    writeResult(name, { ...about, machine: describeMachine(), runs, samples });
  }
  return true;
}

async function measureAll(options: Options): Promise<boolean> {
  const { mode, names, runs } = options;
  const listed = names.flatMap((name) => Object.entries(benchmarks).filter(([other]) => other === name));
  const watched = listed.flatMap(([name, benchmark]) =>
    isWatched(benchmark) ? [[name, benchmark] as const] : [],
  );
  if (mode === 'short') return checkWatched(watched, runs ?? 1);
  if (mode === 'save-baseline') return saveBaseline(watched, runs ?? baselineRuns);
  let isGood = true;
  for (const [name, benchmark] of listed) isGood = (await measureOne(name, benchmark, options)) && isGood;
  return isGood;
}

async function main(): Promise<void> {
  const options = readOptions();
  if (options.mode === 'help') return console.log(usage);
  if (options.mode === 'page') return writePages();
  if (options.mode === 'save') refuseChanges();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  console.log(`${describeMachine()}\n`);
  if (!(await measureAll(options))) process.exitCode = 1;
  if (options.mode === 'save') await writePages();
}

try {
  await main();
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  process.exitCode = 1;
}
