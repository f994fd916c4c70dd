/** Metrics of one process in the format of Prometheus: those of the library, and those declared in this directory. */
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Clock } from '../lib/clock.ts';
import { SystemClock } from '../lib/system-clock.ts';
import { declareEventLoopDelay, EventLoopDelay, eventLoopDelayNames } from './event-loop-delay.ts';
import { declareGauges, type MetricSources } from './gauges.ts';
import { instrumentsOver } from './instruments.ts';
import type { RequestHistogram } from './request-histogram.ts';
import { LoopProgress } from '../lib/loop-progress.ts';
import { declareMetrics, type Telemetry } from './telemetry.ts';

export interface Exposition {
  readonly contentType: string;
  /** The text of a scrape. */
  expose(): Promise<string>;
}

export type Metrics = Telemetry & Exposition & { readonly progress: LoopProgress };

/** Metrics of the library that walk all descriptors or handles, which blocks the loop with a million sockets; replaced by our own. */
const costlyAtScale: readonly string[] = [
  'process_open_fds',
  'nodejs_active_resources',
  'nodejs_active_resources_total',
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests',
  'nodejs_active_requests_total',
];

export function createMetrics(
  sources: MetricSources,
  clock: Pick<Clock, 'monotonicMs'> = new SystemClock(),
  progress = new LoopProgress(clock),
): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of [...costlyAtScale, ...eventLoopDelayNames]) registry.removeSingleMetric(name);
  const requests: RequestHistogram[] = [];
  const instruments = instrumentsOver(registry, requests, progress.advance);
  declareEventLoopDelay(instruments, new EventLoopDelay(clock));
  declareGauges(instruments, sources);
  const telemetry = declareMetrics(instruments);
  const expose = async (): Promise<string> => {
    const counted = await registry.metrics();
    return [counted, ...requests.map((histogram) => histogram.expose())].join('\n');
  };
  return { ...telemetry, contentType: registry.contentType, expose, progress };
}
