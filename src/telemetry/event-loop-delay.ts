/**
 * Event loop delay over the last 15 to 30 s, for any number of readers. The metrics library clears its histogram at each scrape, so
 * that a second reader, such as the console, would hide delays from the first.
 */
import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks';
import type { Clock } from '../lib/clock.ts';
import type { Instruments } from './instruments.ts';

/** Minimum time covered by a read, which also covers everything since the previous read. */
const windowMs = 15_000;

export class EventLoopDelay {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #elder = begin();
  #younger = begin();
  #youngerSinceMs: number;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
    this.#youngerSinceMs = clock.monotonicMs();
  }

  /** Covers the last 15 to 30 s, or the time since the last read if longer. In nanoseconds, including the sampling interval of 10 ms. */
  read(): Pick<IntervalHistogram, 'min' | 'max' | 'mean' | 'stddev' | 'percentile' | 'count'> {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#youngerSinceMs >= windowMs) {
      [this.#elder, this.#younger] = [this.#younger, this.#elder];
      this.#younger.reset();
      this.#youngerSinceMs = nowMs;
    }
    return this.#elder;
  }
}

function begin(): IntervalHistogram {
  const histogram = monitorEventLoopDelay({ resolution: 10 });
  histogram.enable();
  return histogram;
}

type Delays = ReturnType<EventLoopDelay['read']>;

/** Part of the metric name, as dashboards for Node.js expect it. */
const parts: readonly (readonly [part: string, help: string, read: (delays: Delays) => number])[] = [
  ['min', 'Minimum', ({ min }) => min],
  ['max', 'Maximum', ({ max }) => max],
  ['mean', 'Mean', ({ mean }) => mean],
  ['stddev', 'Standard deviation of the', ({ stddev }) => stddev],
  ['p50', '50th percentile of the', (delays) => delays.percentile(50)],
  ['p90', '90th percentile of the', (delays) => delays.percentile(90)],
  ['p99', '99th percentile of the', (delays) => delays.percentile(99)],
];

export const eventLoopDelayNames = parts.map(([part]) => nameOf(part));

export function declareEventLoopDelay({ gauge }: Pick<Instruments, 'gauge'>, delay: EventLoopDelay): void {
  for (const [part, help, read] of parts)
    gauge(nameOf(part), `${help} delay of the event loop in the last 15 to 30 s.`, () => {
      const delays = delay.read();
      return delays.count === 0 ? 0 : read(delays) / 1e9;
    });
}

function nameOf(part: string): string {
  return `nodejs_eventloop_lag_${part}_seconds`;
}
