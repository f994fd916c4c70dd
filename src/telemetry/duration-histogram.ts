/**
 * Durations counted into buckets, for paths too hot for a metrics library: an observation is two additions. The text
 * for Prometheus is made at the scrape.
 */

/** Upper bounds in seconds; what is longer is counted in `+Inf` alone. */
const requestBoundsS: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

/** A histogram without labels. */
export class DurationHistogram {
  readonly #name: string;
  readonly #help: string;
  readonly #series: DurationSeries;

  /** `boundsS`: upper bounds of the buckets, rising. */
  constructor(name: string, help: string, boundsS: readonly number[] = requestBoundsS) {
    this.#name = name;
    this.#help = help;
    this.#series = new DurationSeries('', boundsS);
  }

  observe(seconds: number): void {
    this.#series.observe(seconds);
  }

  expose(): string {
    return exposeHead(this.#name, this.#help) + this.#series.expose(this.#name);
  }
}

/** A histogram with one series for each route, status and code that was answered: all are from tables. */
export class RequestHistogram {
  readonly #name: string;
  readonly #help: string;
  readonly #boundsS: readonly number[];
  /** By route, then by `seriesKey`: two lookups by strings and numbers that are there already. */
  readonly #byRoute = new Map<string, Map<number, DurationSeries>>();
  readonly #all: DurationSeries[] = [];

  /** `boundsS` as in DurationHistogram. */
  constructor(name: string, help: string, boundsS: readonly number[] = requestBoundsS) {
    this.#name = name;
    this.#help = help;
    this.#boundsS = boundsS;
  }

  observe(route: string, status: number, code: number, seconds: number): void {
    const known = this.#byRoute.get(route)?.get(seriesKey(status, code));
    (known ?? this.#add(route, status, code)).observe(seconds);
  }

  expose(): string {
    const series = this.#all.map((each) => each.expose(this.#name));
    return exposeHead(this.#name, this.#help) + series.join('');
  }

  #add(route: string, status: number, code: number): DurationSeries {
    const labels = `route="${route}",status="${status}",code="${code}"`;
    const series = new DurationSeries(labels, this.#boundsS);
    this.#all.push(series);
    const ofRoute = this.#byRoute.get(route) ?? new Map<number, DurationSeries>();
    this.#byRoute.set(route, ofRoute.set(seriesKey(status, code), series));
    return series;
  }
}

class DurationSeries {
  readonly #labels: string;
  readonly #boundsS: readonly number[];
  /** One more than there are bounds: the last is beyond all of them. */
  readonly #counts: Float64Array;
  #sum = 0;

  /** `labels` is text such as `route="wakeup",status="202"`, or empty. */
  constructor(labels: string, boundsS: readonly number[]) {
    this.#labels = labels;
    this.#boundsS = boundsS;
    this.#counts = new Float64Array(boundsS.length + 1);
  }

  observe(seconds: number): void {
    let bucket = 0;
    while (seconds > (this.#boundsS[bucket] ?? Infinity)) bucket += 1;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += seconds;
  }

  expose(name: string): string {
    const labels = this.#labels;
    const within = labels === '' ? '' : `${labels},`;
    const whole = labels === '' ? '' : `{${labels}}`;
    let text = '';
    let seen = 0;
    for (const [bucket, count] of this.#counts.entries()) {
      seen += count;
      text += `${name}_bucket{${within}le="${this.#boundsS[bucket] ?? '+Inf'}"} ${seen}\n`;
    }
    return `${text}${name}_sum${whole} ${this.#sum}\n${name}_count${whole} ${seen}\n`;
  }
}

/** Codes have five digits at most. */
function seriesKey(status: number, code: number): number {
  return status * 100_000 + code;
}

function exposeHead(name: string, help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} histogram\n`;
}
