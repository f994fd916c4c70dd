/** The numbers of a figure by server and metric, one for each run; medians, spreads and ratios of the same runs. */
import { assert } from '../../src/lib/assert.ts';

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export class Samples {
  readonly #runs = new Map<string, Map<string, number[]>>();

  /** As `toJSON` gave them. */
  static of(kept: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>): Samples {
    const samples = new Samples();
    for (const [server, metrics] of Object.entries(kept))
      samples.#runs.set(
        server,
        new Map(Object.entries(metrics).map(([name, values]) => [name, [...values]])),
      );
    return samples;
  }

  add(server: string, metrics: Readonly<Record<string, number>>): void {
    const byMetric = this.#runs.get(server) ?? new Map<string, number[]>();
    this.#runs.set(server, byMetric);
    for (const [metric, value] of Object.entries(metrics))
      byMetric.set(metric, [...(byMetric.get(metric) ?? []), value]);
  }

  get servers(): string[] {
    return [...this.#runs.keys()];
  }

  values(server: string, metric: string): readonly number[] {
    return this.#runs.get(server)?.get(metric) ?? [];
  }

  /** Null where the server has no such metric. */
  spread(server: string, metric: string): Spread | null {
    return spreadOf(this.values(server, metric));
  }

  /** Run by run, `combine(ours, theirs)`. */
  compare(
    metric: string,
    ours: string,
    theirs: string,
    combine: (ours: number, theirs: number) => number,
  ): Spread {
    const peers = this.values(theirs, metric);
    const spread = spreadOf(this.values(ours, metric).map((own, run) => combine(own, peers[run] ?? NaN)));
    assert(spread !== null, `${ours} and ${theirs} were measured for ${metric}`);
    return spread;
  }

  toJSON(): Record<string, Record<string, number[]>> {
    return Object.fromEntries(
      [...this.#runs].map(([server, metrics]) => [server, Object.fromEntries(metrics)]),
    );
  }
}

export function ratio(ours: number, theirs: number): number {
  return ours / theirs;
}

export function difference(ours: number, theirs: number): number {
  return ours - theirs;
}

function spreadOf(values: readonly number[]): Spread | null {
  const sorted = [...values].sort((a, b) => a - b);
  const { length } = sorted;
  const [min, max] = [sorted[0], sorted[length - 1]];
  if (min === undefined || max === undefined) return null;
  const middle = sorted.slice(Math.floor((length - 1) / 2), Math.floor(length / 2) + 1);
  return { median: middle.reduce((sum, value) => sum + value, 0) / middle.length, min, max };
}
