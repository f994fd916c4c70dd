/** `reveille_http_request_duration_seconds`: one series for each route, status and code that was answered. */
import { DurationSeries, exposeHistogramHead } from './duration-histogram.ts';

const name = 'reveille_http_request_duration_seconds';

/** Routes, statuses and codes are all from tables; were one not, what is beyond this would share one series. */
const seriesMax = 512;

interface Labelled {
  readonly labels: string;
  readonly series: DurationSeries;
}

export class HttpDurations {
  /** By route, then by `seriesKey`: two lookups by strings and numbers that are there already. */
  readonly #byRoute = new Map<string, Map<number, DurationSeries>>();
  readonly #all: Labelled[] = [];
  #overflow: DurationSeries | null = null;

  observe(route: string, status: number, code: number, seconds: number): void {
    const known = this.#byRoute.get(route)?.get(seriesKey(status, code));
    (known ?? this.#add(route, status, code)).observe(seconds);
  }

  expose(): string {
    const series = this.#all.map(({ labels, series }) => series.expose(name, labels));
    return (
      exposeHistogramHead(name, 'From the request to its answer, by route, HTTP status and code.') +
      series.join('')
    );
  }

  #add(route: string, status: number, code: number): DurationSeries {
    if (this.#all.length >= seriesMax) return (this.#overflow ??= this.#label('other', 0, 0));
    const series = this.#label(route, status, code);
    const ofRoute = this.#byRoute.get(route) ?? new Map<number, DurationSeries>();
    this.#byRoute.set(route, ofRoute.set(seriesKey(status, code), series));
    return series;
  }

  #label(route: string, status: number, code: number): DurationSeries {
    const series = new DurationSeries();
    this.#all.push({ labels: `route="${route}",status="${status}",code="${code}"`, series });
    return series;
  }
}

/** Codes have five digits at most. */
function seriesKey(status: number, code: number): number {
  return status * 100_000 + code;
}
