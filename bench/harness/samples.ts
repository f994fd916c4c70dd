/** Samples of a benchmark by row and metric, one per run, with medians, spreads and comparisons per run. */

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export interface Measured {
  readonly row: string;
  readonly metric: string;
}

export type SamplesJson = Record<string, Record<string, number[]>>;

export class Samples {
  readonly #rows: SamplesJson;

  constructor(stored: SamplesJson = {}) {
    this.#rows = stored;
  }

  add(row: string, metrics: Readonly<Record<string, number>>): void {
    const values = (this.#rows[row] ??= {});
    for (const [metric, value] of Object.entries(metrics)) (values[metric] ??= []).push(value);
  }

  get rows(): string[] {
    return Object.keys(this.#rows);
  }

  /** Null: the row does not have the metric. */
  spread(row: string, metric: string): Spread | null {
    return spreadOf(this.#valuesOf(row, metric));
  }

  medians(row: string): Record<string, number> {
    const metrics = Object.entries(this.#rows[row] ?? {});
    return Object.fromEntries(metrics.map(([metric, values]) => [metric, spreadOf(values)?.median ?? NaN]));
  }

  /** Compares run by run. Null: a row does not have the metric. */
  compare(
    ours: Measured,
    theirs: Measured,
    combine: (ours: number, theirs: number) => number,
  ): Spread | null {
    const peers = this.#valuesOf(theirs.row, theirs.metric);
    return spreadOf(
      this.#valuesOf(ours.row, ours.metric).flatMap((own, run) => {
        const peer = peers[run];
        return peer === undefined ? [] : [combine(own, peer)];
      }),
    );
  }

  toJSON(): SamplesJson {
    return this.#rows;
  }

  #valuesOf(row: string, metric: string): readonly number[] {
    return this.#rows[row]?.[metric] ?? [];
  }
}

function spreadOf(values: readonly number[]): Spread | null {
  const sorted = [...values].sort((a, b) => a - b);
  const { length } = sorted;
  const [min, max] = [sorted[0], sorted[length - 1]];
  if (min === undefined || max === undefined) return null;
  const middle = sorted.slice(Math.floor((length - 1) / 2), Math.floor(length / 2) + 1);
  return { median: middle.reduce((sum, value) => sum + value, 0) / middle.length, min, max };
}
