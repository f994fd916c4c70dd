/** Declaration of a benchmark: rows, measured once per run, and targets, evaluated over the samples of all runs. */
import type { Measured, Samples } from './samples.ts';
import type { Trouble } from './trouble.ts';

/** `smoke`: a small load that only checks the answers; its numbers are meaningless. */
export type Scale = 'full' | 'smoke';

/** `short`: a few seconds, for the watched figures only. */
export type AnyScale = Scale | 'short';

export interface Measurement<Scales extends AnyScale = Scale> {
  readonly scale: Scales;
  readonly runs: number;
  /** The rows to measure; null: all of them. */
  readonly rows: ReadonlySet<string> | null;
  readonly samples: Samples;
  readonly trouble: Trouble;
}

export interface Column {
  readonly metric: string;
  readonly title: string;
  readonly digits: number;
}

/** A peer, a floor or another figure of ours, measured in the same run. Default `metric`: that of the target. */
type Comparison =
  | { readonly kind: 'ratio to' | 'difference from'; readonly row: string; readonly metric?: string }
  | { readonly kind: 'alone' };

export interface Target {
  readonly what: string;
  readonly row: string;
  readonly metric: string;
  readonly unit: string;
  readonly compared: Comparison;
  readonly bound: Bound | null;
}

export interface Bound {
  readonly kind: 'at most' | 'at least';
  readonly value: number;
}

/** A figure of the short check: its ratio to a peer of the same run is compared with the committed baseline. Less is better. */
export interface Watched extends Measured {
  readonly what: string;
  readonly unit: string;
  readonly peer: Measured;
  /** Printed, and never an error: it depends on other load of the machine, as latencies do. */
  readonly isUnsteady?: true;
}

interface Described {
  readonly title: string;
  readonly runs: number;
  /** Description of the method, one or two sentences each. */
  readonly notes: readonly string[];
  readonly columns: readonly Column[];
  readonly targets: readonly Target[];
}

export interface WatchedBenchmark extends Described {
  readonly watched: readonly Watched[];
  readonly measure: (measurement: Measurement<AnyScale>) => Promise<void>;
}

interface OtherBenchmark extends Described {
  readonly watched?: undefined;
  readonly measure: (measurement: Measurement) => Promise<void>;
}

export type Benchmark = WatchedBenchmark | OtherBenchmark;

export const ratioTo = (row: string, metric?: string): Comparison => ({
  kind: 'ratio to',
  row,
  ...(metric !== undefined && { metric }),
});
export const differenceFrom = (row: string): Comparison => ({ kind: 'difference from', row });
export const atMost = (value: number): Bound => ({ kind: 'at most', value });
export const atLeast = (value: number): Bound => ({ kind: 'at least', value });

/** The contenders that this measurement includes. */
export function contendersIn<Contender extends { readonly row: string }>(
  { rows }: Measurement<AnyScale>,
  contenders: readonly Contender[],
): readonly Contender[] {
  return rows === null ? contenders : contenders.filter(({ row }) => rows.has(row));
}

/** Measures each contender once per round, starting each round with another one. */
export async function interleave<Contender>(
  contenders: readonly Contender[],
  rounds: number,
  measure: (contender: Contender, round: number) => Promise<void>,
): Promise<void> {
  for (let round = 0; round < rounds; round += 1)
    for (const contender of inTurn(contenders, round)) await measure(contender, round);
}

export function inTurn<Item>(items: readonly Item[], round: number): Item[] {
  const first = round % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}
