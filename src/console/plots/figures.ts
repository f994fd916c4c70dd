/** The server's recorded figures, kept for an hour, and the series computed from them: rates and quantiles. */
import type { FiguresJson } from '../../telemetry/figure-history.ts';

const keptMax = 720;

export type Values = readonly (number | null)[];

export class Figures {
  atMs: number[] = [];
  next = 0;
  readonly #series = new Map<string, (number | null)[]>();

  add({ at_ms: atMs, series, next }: FiguresJson): void {
    // Smaller numbers mean that the server was restarted.
    if (next < this.next) this.#forget();
    const before = this.atMs.length;
    this.next = next;
    this.atMs.push(...atMs);
    for (const [name, values] of Object.entries(series)) {
      const known = this.#series.get(name) ?? Array.from({ length: before }, () => null);
      known.push(...values);
      this.#series.set(name, known);
    }
    for (const values of this.#series.values()) while (values.length < this.atMs.length) values.push(null);
    this.#cut();
  }

  /** All null if there is no such series. */
  of(name: string): Values {
    return this.#series.get(name) ?? this.atMs.map(() => null);
  }

  labels(name: string): string[] {
    const begin = `${name}.`;
    const found = [...this.#series.keys()].filter((key) => key.startsWith(begin));
    return found.map((key) => key.slice(begin.length)).sort();
  }

  sum(name: string, labels: readonly string[]): Values {
    const found = labels.map((label) => this.of(`${name}.${label}`));
    return this.atMs.map((_, at) => sumOf(found.map((values) => values[at] ?? null)));
  }

  rate(values: Values): Values {
    return values.map((value, at) => {
      const before = values[at - 1] ?? null;
      const seconds = ((this.atMs[at] ?? 0) - (this.atMs[at - 1] ?? 0)) / 1000;
      // A counter falls when the server restarts.
      if (value === null || before === null || seconds <= 0 || value < before) return null;
      return (value - before) / seconds;
    });
  }

  /** A quantile of the wake times in the minute before each record, seconds; null: no wakeups. */
  wokeAfter(quantile: number): Values {
    const bounds = this.labels('woke_within').map((label) => ({
      bound: label === '+Inf' ? Infinity : Number(label),
      counts: this.of(`woke_within.${label}`),
    }));
    bounds.sort((one, other) => one.bound - other.bound);
    return this.atMs.map((_, at) => {
      const from = Math.max(0, at - notesOfMinute);
      const grown = bounds.map(({ bound, counts }) => ({
        bound,
        count: (counts[at] ?? 0) - (counts[from] ?? 0),
      }));
      return quantileOf(grown, quantile);
    });
  }

  #cut(): void {
    const over = Math.max(0, this.atMs.length - keptMax);
    if (over === 0) return;
    this.atMs.splice(0, over);
    for (const values of this.#series.values()) values.splice(0, over);
  }

  #forget(): void {
    this.atMs = [];
    this.#series.clear();
  }
}

const notesOfMinute = 12;

function sumOf(values: Values): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
}

interface Bucket {
  readonly bound: number;
  readonly count: number;
}

/** Interpolates linearly within a bucket, as Prometheus does; above the last bound returns that bound. Null: no counts. */
function quantileOf(buckets: readonly Bucket[], quantile: number): number | null {
  const total = buckets.at(-1)?.count ?? 0;
  if (total <= 0) return null;
  const wanted = quantile * total;
  let below: Bucket = { bound: 0, count: 0 };
  for (const bucket of buckets) {
    if (bucket.count >= wanted && bucket.count > below.count) {
      if (bucket.bound === Infinity) return below.bound;
      const share = (wanted - below.count) / (bucket.count - below.count);
      return below.bound + share * (bucket.bound - below.bound);
    }
    below = bucket;
  }
  return below.bound;
}
