/** The short check: measures the watched figures, and compares their ratios to a peer of the same run with the baseline. */
import {
  baselinePath,
  isSlower,
  readBaseline,
  slowdownMax,
  writeBaseline,
  type Baseline,
} from './baseline.ts';
import type { Benchmark, WatchedBenchmark } from './harness/benchmark.ts';
import { formatNumber, table } from './harness/tables.ts';
import { runBenchmark } from './run-benchmark.ts';

/** A watched figure: ours, the peer's, and the median of the ratios of all runs. */
interface Reading {
  readonly name: string;
  readonly what: string;
  readonly isUnsteady: boolean;
  readonly unit: string;
  readonly ours: number;
  readonly peer: number;
  readonly ratio: number;
  /** The baseline; 0: none, which every ratio exceeds. */
  readonly expected: number;
}

type Named = readonly (readonly [name: string, benchmark: WatchedBenchmark])[];

/** Runs of the second measurement: a single disturbance decides nothing. */
const runsOfSecond = 3;
const minutesMax = 4;
const ratioDigits = 2;
const unitDigits = 2;
const head = ['', 'ours', 'peer or floor', 'ratio', 'baseline', 'ratio / baseline'];

export function isWatched(benchmark: Benchmark): benchmark is WatchedBenchmark {
  return benchmark.watched !== undefined;
}

/**
 * Prints each figure once it is measured; a figure that is slower is measured again at the end, three times. False: an answer was wrong, or
 * a figure is slower than its baseline in both runs.
 */
export async function checkWatched(benchmarks: Named, runs: number): Promise<boolean> {
  const baseline = readBaseline();
  console.log(table(head, []));
  const first = await readAll(benchmarks, runs, baseline);
  const suspects = first.readings.filter((reading) => isSuspect(reading, [reading.ratio]));
  const again = benchmarks.filter(([name]) => suspects.some((suspect) => suspect.name === name));
  const second = await readAll(again, runs * runsOfSecond, baseline);
  const slower = suspects.flatMap((reading) => {
    const other = second.readings.find(({ what }) => what === reading.what);
    const ratios = [reading.ratio, other?.ratio ?? Infinity];
    return isSuspect(reading, ratios) ? [{ ...reading, ratios }] : [];
  });
  for (const { name, what, ratios, expected } of slower) {
    const shown = ratios.map((ratio) => formatNumber(ratio, ratioDigits)).join(' and ');
    console.error(
      `**Slower:** ${what}: ${shown} of its peer, measured twice: more than ${slowdownMax} × ${expected} of ${baselinePath}; ` +
        `measure again: npm run bench -- ${name} --short`,
    );
  }
  return first.isGood && second.isGood && slower.length === 0;
}

function isSuspect({ isUnsteady, expected }: Reading, ratios: readonly number[]): boolean {
  return !isUnsteady && isSlower(ratios, expected);
}

/** Not good: an answer was wrong. */
async function readAll(
  benchmarks: Named,
  runs: number,
  baseline: Baseline,
): Promise<{ readings: readonly Reading[]; isGood: boolean }> {
  const readings: Reading[] = [];
  let isGood = true;
  for (const [name, benchmark] of benchmarks) {
    const own = await readWatched(name, benchmark, runs, baseline);
    isGood &&= own.length > 0;
    for (const reading of own) console.log(describe(reading));
    readings.push(...own);
  }
  return { readings, isGood };
}

/** False: an answer was wrong, and the baseline stays as it was. */
export async function saveBaseline(benchmarks: Named, runs: number): Promise<boolean> {
  console.log(table(head, []));
  const { readings, isGood } = await readAll(benchmarks, runs, readBaseline());
  if (!isGood) return false;
  const ratiosOf = (name: string): Record<string, number> =>
    Object.fromEntries(
      readings.filter((reading) => reading.name === name).map(({ what, ratio }) => [what, ratio]),
    );
  writeBaseline(Object.fromEntries(benchmarks.map(([name]) => [name, ratiosOf(name)])));
  return true;
}

/** Empty: an answer was wrong. */
async function readWatched(
  name: string,
  { watched, measure }: WatchedBenchmark,
  runs: number,
  baseline: Baseline,
): Promise<readonly Reading[]> {
  const rows = new Set(watched.flatMap(({ row, peer }) => [row, peer.row]));
  const samples = await runBenchmark(name, minutesMax * runs, (taken) =>
    measure({ scale: 'short', runs, rows, ...taken }),
  );
  if (samples === null) return [];
  return watched.map((figure) => {
    const { what, unit, row, metric, peer, isUnsteady = false } = figure;
    const [ours, theirs] = [samples.spread(row, metric), samples.spread(peer.row, peer.metric)];
    const ratio = samples.compare(figure, peer, (own, other) => own / other);
    if (ours === null || theirs === null || ratio === null)
      throw new Error(`${name}: ${what} was not measured`);
    const expected = baseline[name]?.[what] ?? 0;
    return {
      name,
      what,
      unit,
      isUnsteady,
      ours: ours.median,
      peer: theirs.median,
      ratio: ratio.median,
      expected,
    };
  });
}

function describe({ what, unit, ours, peer, ratio, expected }: Reading): string {
  const [own, other] = [ours, peer].map((value) => `${formatNumber(value, unitDigits)} ${unit}`);
  const ratios = [ratio, expected, ratio / expected].map((value) => formatNumber(value, ratioDigits));
  return `| ${[what, own, other, ...ratios].join(' | ')} |`;
}
