/** Runs benchmarks: `npm run bench -- --help`. */
import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { checkout } from '../test/support/checkout.ts';
import { benchmarks } from './benchmarks.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { loadCore, pinning, serverCore } from './harness/child.ts';
import { Samples } from './harness/samples.ts';
import { describeRows, table, targetHead, targetRows } from './harness/tables.ts';
import { Trouble } from './harness/trouble.ts';
import { pagePath, writePages } from './page.ts';
import { writeResult } from './results.ts';

const usage = `npm run bench -- [NAME ...] [--runs N] [--save | --smoke]
npm run bench -- --page

Measures the named benchmarks over real sockets, or all of them, and prints what ${pagePath} shows. A wrong answer, a lost
session or a missing event is an error; a missed target is not.

  --runs N  so many runs instead of the benchmark's own number
  --save    stores the results in bench/results and does --page; needs a committed tree
  --smoke   one run with a small load, to see whether every answer is right
  --page    fills ${pagePath} and README.md with the stored results

${Object.entries(benchmarks)
  .map(([name, { title }]) => `  ${name.padEnd(12)} ${title}`)
  .join('\n')}`;

/** Timeout of a run; ends the benchmark and its processes. */
const minutesPerRunMax = 15;
const smokeMinutesMax = 4;

interface Options {
  readonly names: readonly string[];
  readonly runs: number | null;
  readonly mode: 'help' | 'page' | 'print' | 'save' | 'smoke';
}

function readOptions(): Options {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      runs: { type: 'string' },
      save: { type: 'boolean', default: false },
      smoke: { type: 'boolean', default: false },
      page: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const modes = (['help', 'page', 'save', 'smoke'] as const).filter((mode) => values[mode]);
  if (modes.length > 1) throw new Error(`--${modes.join(' and --')} exclude each other`);
  const unknown = positionals.find((name) => !Object.hasOwn(benchmarks, name));
  if (unknown !== undefined) throw new Error(`unknown benchmark: ${unknown}`);
  const runs = values.runs === undefined ? null : Number(values.runs);
  if (runs !== null && !(Number.isInteger(runs) && runs > 0))
    throw new Error('--runs must be an integer of at least 1');
  const names = positionals.length > 0 ? positionals : Object.keys(benchmarks);
  return { names, runs, mode: modes[0] ?? 'print' };
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
  const [samples, trouble] = [new Samples(), new Trouble()];
  const minutes = isSmoke ? smokeMinutesMax : minutesPerRunMax * runs;
  const limit = setTimeout(() => {
    console.error(`${name}: not done after ${minutes} minutes`);
    process.exit(1);
  }, minutes * 60_000);
  const startMs = performance.now();
  await benchmark.measure({ scale: isSmoke ? 'smoke' : 'full', runs, samples, trouble });
  clearTimeout(limit);
  const seconds = Math.round((performance.now() - startMs) / 1000);
  console.log(`## ${benchmark.title}\n\n${name}, ${runs} run${runs === 1 ? '' : 's'}, ${seconds} s\n`);
  console.log(`${describeRows(benchmark, samples)}\n`);
  const compared = targetRows(benchmark, samples);
  if (!isSmoke) console.log(`${table(targetHead, compared)}\n`);
  for (const line of trouble.list) console.error(`**Wrong:** ${line}`);
  if (trouble.list.length > 0) return false;
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

async function main(): Promise<void> {
  const options = readOptions();
  if (options.mode === 'help') return console.log(usage);
  if (options.mode === 'page') return writePages();
  if (options.mode === 'save') refuseChanges();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  console.log(`${describeMachine()}\n`);
  if (options.mode !== 'smoke' && options.names.some((name) => benchmarks[name]?.measuresBuild))
    execFileSync('npm', ['run', '-s', 'build'], { cwd: checkout, stdio: 'inherit' });
  for (const name of options.names) {
    const benchmark = benchmarks[name];
    if (benchmark !== undefined && !(await measureOne(name, benchmark, options))) process.exitCode = 1;
  }
  if (options.mode === 'save') await writePages();
}

try {
  await main();
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  process.exitCode = 1;
}
