/**
 * Histogram of request durations for a path too hot for the metrics library: an observation is two lookups and two additions. The text
 * for Prometheus is built at the scrape.
 */
export class RequestHistogram {
  readonly #name: string;
  readonly #help: string;
  readonly #boundsS: readonly number[];
  /** By route, then by `seriesKey`: both lookups allocate nothing. */
  readonly #byRoute = new Map<string, Map<number, Series>>();
  readonly #all: Series[] = [];

  /** `boundsS`: upper bounds of the buckets, seconds, ascending. */
  constructor(name: string, help: string, boundsS: readonly number[]) {
    this.#name = name;
    this.#help = help;
    this.#boundsS = boundsS;
  }

  /** Route, status and code come from fixed tables, which bounds the number of series. */
  observe(route: string, status: number, code: number, seconds: number): void {
    const known = this.#byRoute.get(route)?.get(seriesKey(status, code));
    const series = known ?? this.#add(route, status, code);
    let bucket = 0;
    while (seconds > (this.#boundsS[bucket] ?? Infinity)) bucket += 1;
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.sum += seconds;
  }

  expose(): string {
    const head = `# HELP ${this.#name} ${this.#help}\n# TYPE ${this.#name} histogram\n`;
    return head + this.#all.map((series) => this.#exposeOne(series)).join('');
  }

  #exposeOne({ labels, counts, sum }: Series): string {
    let text = '';
    let seen = 0;
    for (const [bucket, count] of counts.entries()) {
      seen += count;
      text += `${this.#name}_bucket{${labels},le="${this.#boundsS[bucket] ?? '+Inf'}"} ${seen}\n`;
    }
    return `${text}${this.#name}_sum{${labels}} ${sum}\n${this.#name}_count{${labels}} ${seen}\n`;
  }

  #add(route: string, status: number, code: number): Series {
    const labels = `route="${route}",status="${status}",code="${code}"`;
    const series = { labels, counts: new Float64Array(this.#boundsS.length + 1), sum: 0 };
    this.#all.push(series);
    const ofRoute = this.#byRoute.get(route) ?? new Map<number, Series>();
    this.#byRoute.set(route, ofRoute.set(seriesKey(status, code), series));
    return series;
  }
}

interface Series {
  readonly labels: string;
  /** One more than there are bounds: the last counts longer durations. */
  readonly counts: Float64Array;
  sum: number;
}

/** Codes have five digits at most. */
function seriesKey(status: number, code: number): number {
  return status * 100_000 + code;
}
