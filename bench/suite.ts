/**
 * Runs every benchmark of `bench/suite/` and prints a table, beside the baseline that is committed.
 *
 *   node --import tsx bench/suite.ts [--smoke] [--json] [--update-baseline] [name part ...]
 *
 * `--smoke` runs each for a moment, to prove that it runs; its numbers mean nothing. Name parts choose files; the calibration is
 * always among them. `--update-baseline` takes what is measured now as the baseline. Fails when a case fails, and when there was
 * none; a case that became slower is marked, and no failure.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Bench, type Task } from 'tinybench';
import {
  compareWithBaseline,
  readBaseline,
  slowerMax,
  writeBaseline,
  type Comparison,
} from './support/baseline.ts';

/** What a file of the suite exports: adds its cases, resolves to what ends whatever they needed. */
interface SuiteFile {
  register(bench: Bench): Promise<() => Promise<void>>;
  /** Of cases that are told as a ratio: the name of the case that each is measured against. */
  readonly baselines?: Readonly<Record<string, string>>;
}

interface Row {
  readonly name: string;
  readonly opsPerSecond: number;
  readonly p50Ns: number;
  /** A call's, as it is compared: the median, or the mean where the clock is too coarse for one. */
  readonly typicalNs: number;
  readonly p99Ns: number;
  readonly samples: number;
  /** Its ops/s by those of its baseline; null: it has none. */
  readonly ratio: number | null;
}

/** Below it a median is one of few ticks of the clock. */
const coarseNs = 1000;
/** All of them together take less than a minute. */
const full = { time: 400, warmupTime: 100 };
const smoke = { time: 1, iterations: 1, warmupTime: 0, warmupIterations: 1 };

const { values: flags, positionals: wanted } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    'update-baseline': { type: 'boolean', default: false },
  },
  allowPositionals: true,
});

if (flags['update-baseline'] && (flags.smoke || wanted.length > 0))
  throw new Error('a baseline is of all cases, as they are measured: no --smoke and no names');

const folder = new URL('./suite/', import.meta.url);
const files = readdirSync(folder)
  .filter((name) => name.endsWith('.ts'))
  .sort();
const chosen = files.filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)));
if (chosen.length === 0) throw new Error(`no file of bench/suite has ${wanted.join(' or ')} in its name`);

const rows: Row[] = [];
for (const file of new Set(['calibration.ts', ...chosen])) rows.push(...(await runFile(file)));
const typical = new Map(rows.map(({ name, typicalNs }) => [name, typicalNs]));
if (flags['update-baseline'])
  writeBaseline(
    typical,
    execFileSync('git', ['rev-parse', '--short=10', 'HEAD'], { encoding: 'utf8' }).trim(),
  );
if (flags.json) console.log(JSON.stringify(rows, null, 2));
else report(compareWithBaseline(readBaseline(), typical));

function report(comparison: Comparison): void {
  console.log(`${table(rows, comparison)}\n\n${comparison.note}`);
  const slower = rows.filter(({ name, typicalNs }) => (comparison.timesOf(name, typicalNs) ?? 0) > slowerMax);
  if (slower.length > 0) console.log(`${slower.length} took more than ${slowerMax} times as long (!)`);
}

/** One bench a file, ended before the next begins: no file's leftovers slow down another's cases. */
async function runFile(file: string): Promise<Row[]> {
  const loaded: unknown = await import(new URL(file, folder).href);
  if (!isSuiteFile(loaded)) throw new Error(`${file} exports no register`);
  const bench = new Bench({ ...(flags.smoke ? smoke : full), throws: true, retainSamples: false });
  const end = await loaded.register(bench);
  try {
    if (bench.tasks.length === 0) throw new Error(`${file} has no case`);
    return withRatios((await bench.run()).map(rowOf), loaded.baselines ?? {});
  } finally {
    await end();
  }
}

function isSuiteFile(loaded: unknown): loaded is SuiteFile {
  return (
    typeof loaded === 'object' &&
    loaded !== null &&
    'register' in loaded &&
    typeof loaded.register === 'function'
  );
}

function rowOf({ name, result }: Task): Row {
  if (!('latency' in result)) throw new Error(`${name}: ${result.state}`);
  const { latency, throughput } = result;
  return {
    name,
    opsPerSecond: throughput.mean,
    p50Ns: latency.p50 * 1e6,
    typicalNs: (latency.p50 * 1e6 < coarseNs ? latency.mean : latency.p50) * 1e6,
    p99Ns: latency.p99 * 1e6,
    samples: latency.samplesCount,
    ratio: null,
  };
}

function withRatios(rows: readonly Row[], baselines: Readonly<Record<string, string>>): Row[] {
  return rows.map((row) => {
    const baseline = rows.find(({ name }) => name === baselines[row.name]);
    return baseline === undefined ? row : { ...row, ratio: row.opsPerSecond / baseline.opsPerSecond };
  });
}

function table(rows: readonly Row[], comparison: Comparison): string {
  const head = ['case', 'ops/s', 'p50 ns/op', 'p99 ns/op', 'samples', 'ratio', 'baseline'];
  const lines = rows.map((row) => [
    row.name,
    ...[row.opsPerSecond, row.p50Ns, row.p99Ns, row.samples].map((figure) =>
      Math.round(figure).toLocaleString('en'),
    ),
    row.ratio === null ? '' : `${row.ratio.toFixed(2)} ×`,
    describeTimes(comparison.timesOf(row.name, row.typicalNs)),
  ]);
  const widths = head.map((title, column) =>
    Math.max(title.length, ...lines.map((line) => line[column]?.length ?? 0)),
  );
  const pad = (cell: string, column: number): string =>
    column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  return [head, ...lines].map((line) => line.map(pad).join('  ')).join('\n');
}

function describeTimes(times: number | null): string {
  if (times === null) return 'new';
  return `${times.toFixed(2)} ×${times > slowerMax ? ' !' : '  '}`;
}
