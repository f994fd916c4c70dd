/** Declaration of a benchmark: rows, measured once per run, and targets, evaluated over the samples of all runs. */
import type { Samples } from './samples.ts';
import type { Trouble } from './trouble.ts';

/** `smoke`: a small load that only checks the answers; its numbers are meaningless. */
export type Scale = 'full' | 'smoke';

export interface Measurement {
  readonly scale: Scale;
  readonly runs: number;
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

export interface Benchmark {
  /** Measures the servers of `dist`, which is built first. A smoke runs the sources. */
  readonly measuresBuild?: true;
  readonly title: string;
  readonly runs: number;
  /** Description of the method, one or two sentences each. */
  readonly notes: readonly string[];
  readonly columns: readonly Column[];
  readonly targets: readonly Target[];
  measure(measurement: Measurement): Promise<void>;
}

export const ratioTo = (row: string, metric?: string): Comparison => ({
  kind: 'ratio to',
  row,
  ...(metric !== undefined && { metric }),
});
export const differenceFrom = (row: string): Comparison => ({ kind: 'difference from', row });
export const atMost = (value: number): Bound => ({ kind: 'at most', value });
export const atLeast = (value: number): Bound => ({ kind: 'at least', value });

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
