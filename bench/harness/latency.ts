/** Latencies of one run, in a histogram of three significant digits. */
import { build, type Histogram } from 'hdr-histogram-js';

export interface LatencyReading {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

const microsecondsPerMs = 1000;
const longestUs = 60_000_000;

export class LatencyRecorder {
  readonly #histogram: Histogram = build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: longestUs,
    numberOfSignificantValueDigits: 3,
  });

  add(milliseconds: number): void {
    this.#histogram.recordValue(
      Math.min(longestUs, Math.max(1, Math.round(milliseconds * microsecondsPerMs))),
    );
  }

  get count(): number {
    return this.#histogram.totalCount;
  }

  read(): LatencyReading {
    const at = (percentile: number): number =>
      this.#histogram.getValueAtPercentile(percentile) / microsecondsPerMs;
    return {
      count: this.#histogram.totalCount,
      p50Ms: at(50),
      p99Ms: at(99),
      maxMs: this.#histogram.maxValue / microsecondsPerMs,
    };
  }
}

/** One clock for all processes of this machine (CLOCK_MONOTONIC), in milliseconds. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}
