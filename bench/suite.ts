/**
 * Runs every benchmark of `bench/suite/` and prints a table.
 *
 *   node --import tsx bench/suite.ts [--smoke] [--json] [name part ...]
 *
 * `--smoke` runs each for a moment, to prove that it runs; its numbers mean nothing. Name parts choose files.
 * Fails when a case fails, and when there was none.
 */
import { readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Bench, type Task } from 'tinybench';

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
  readonly p99Ns: number;
  readonly samples: number;
  /** Its ops/s by those of its baseline; null: it has none. */
  readonly ratio: number | null;
}

const full = { time: 1000, warmupTime: 250 };
const smoke = { time: 1, iterations: 1, warmupTime: 0, warmupIterations: 1 };

const { values: flags, positionals: wanted } = parseArgs({
  options: { smoke: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
  allowPositionals: true,
});

const folder = new URL('./suite/', import.meta.url);
const files = readdirSync(folder)
  .filter((name) => name.endsWith('.ts'))
  .filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
  .sort();

const rows: Row[] = [];
for (const file of files) rows.push(...(await runFile(file)));
if (rows.length === 0) throw new Error(`no case ran: ${files.length} files chosen in bench/suite`);
console.log(flags.json ? JSON.stringify(rows, null, 2) : table(rows));

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

function table(rows: readonly Row[]): string {
  const head = ['case', 'ops/s', 'p50 ns/op', 'p99 ns/op', 'samples', 'ratio'];
  const lines = rows.map((row) => [
    row.name,
    ...[row.opsPerSecond, row.p50Ns, row.p99Ns, row.samples].map((figure) =>
      Math.round(figure).toLocaleString('en'),
    ),
    row.ratio === null ? '' : `${row.ratio.toFixed(2)} ×`,
  ]);
  const widths = head.map((title, column) =>
    Math.max(title.length, ...lines.map((line) => line[column]?.length ?? 0)),
  );
  const pad = (cell: string, column: number): string =>
    column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  return [head, ...lines].map((line) => line.map(pad).join('  ')).join('\n');
}
