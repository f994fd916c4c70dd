/**
 * The delay of the event loop over the last quarter to half minute, however many read it and however often. The histogram of
 * the metrics library is emptied by each scrape, so that a second reader, the console, would take what the first should see.
 */
import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks';
import type { Clock } from '../lib/clock.ts';
import type { Instruments } from './instruments.ts';

/** What is read covers this much at least, and all since the read before. */
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

  /** Of the last 15 to 30 s, or since the last read, where that is longer. In nanoseconds, with the 10 ms between two looks. */
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

/** By the part of the name that dashboards for Node.js know. */
const parts: readonly (readonly [part: string, help: string, read: (delays: Delays) => number])[] = [
  ['min', 'Least', ({ min }) => min],
  ['max', 'Greatest', ({ max }) => max],
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
