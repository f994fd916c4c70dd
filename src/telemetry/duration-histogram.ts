/**
 * Durations counted into buckets, for paths too hot for a metrics library: an observation is two additions. The
 * text that Prometheus reads is made when it asks.
 */

/** Upper bounds in seconds; what is longer is counted in `+Inf` alone. */
const answerBoundsS: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

/** For what takes a device seconds. */
export const wakingBoundsS: readonly number[] = [0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 15, 20, 30, 45, 60];

export class DurationSeries {
  readonly #boundsS: readonly number[];
  /** One more than there are bounds: the last is beyond all of them. */
  readonly #counts: Float64Array;
  #sum = 0;

  /** `boundsS` rise. */
  constructor(boundsS: readonly number[] = answerBoundsS) {
    this.#boundsS = boundsS;
    this.#counts = new Float64Array(boundsS.length + 1);
  }

  observe(seconds: number): void {
    let bucket = 0;
    while (seconds > (this.#boundsS[bucket] ?? Infinity)) bucket += 1;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += seconds;
  }

  /** `labels` is text such as `route="wakeup",status="202"`, or empty. */
  expose(name: string, labels: string): string {
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

/** The two lines that begin a histogram. */
export function exposeHistogramHead(name: string, help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} histogram\n`;
}
