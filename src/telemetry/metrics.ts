/**
 * The metrics of one process as Prometheus reads them. Counting is on the hot path and allocates nothing; text is made, and
 * gauges are read, at the scrape.
 */
import { collectDefaultMetrics, Counter, Registry, Gauge } from 'prom-client';
import type { Clock } from '../lib/clock.ts';
import { SystemClock } from '../lib/system-clock.ts';
import { declareEventLoopDelay, EventLoopDelay, eventLoopDelayNames } from './event-loop-delay.ts';
import { DurationHistogram, RequestHistogram } from './duration-histogram.ts';
import { declareGauges, type GaugeInstruments, type MetricSources } from './gauges.ts';
import { LoopProgress } from '../lib/loop-progress.ts';
import { declareMetrics, type Telemetry } from './telemetry.ts';

/** A text that Prometheus scrapes. */
export interface Exposition {
  readonly contentType: string;
  /** The whole text of a scrape. */
  expose(): Promise<string>;
}

export type Metrics = Telemetry & Exposition & { readonly progress: LoopProgress };

/** The library's own that walk every descriptor or handle of the process, with a million sockets a stall; ours counts them. */
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
  const gauges = gaugesOf(registry);
  declareEventLoopDelay(gauges.gauge, new EventLoopDelay(clock));
  declareGauges(gauges, sources);
  const histograms: (DurationHistogram | RequestHistogram)[] = [];
  const { advance } = progress;
  const telemetry = declareMetrics({
    counter: (name, help, labelName, labels) => {
      const add = labelledCounter(registry, name, help, labelName, labels);
      return (label) => {
        add(label, 1);
        advance();
      };
    },
    bulkCounter: (name, help, labelName, labels) => labelledCounter(registry, name, help, labelName, labels),
    total: (name, help) => {
      const counter = new Counter({ name, help, registers: [registry] });
      return (count) => counter.inc(count);
    },
    histogram: (name, help, boundsS) => {
      const histogram = new DurationHistogram(name, help, boundsS);
      histograms.push(histogram);
      return (seconds) => histogram.observe(seconds);
    },
    requestHistogram: (name, help, boundsS) => {
      const histogram = new RequestHistogram(name, help, boundsS);
      histograms.push(histogram);
      return (route, status, code, seconds) => {
        histogram.observe(route, status, code, seconds);
        advance();
      };
    },
  });
  const expose = async (): Promise<string> => {
    const counted = await registry.metrics();
    return [counted, ...histograms.map((histogram) => histogram.expose())].join('\n');
  };
  return { ...telemetry, contentType: registry.contentType, expose, progress };
}

function gaugesOf(registry: Registry): GaugeInstruments {
  const add = <Value>(
    [name, help, labelNames]: readonly [name: string, help: string, labelNames: readonly string[]],
    read: () => Value | null | Promise<Value | null>,
    set: (gauge: Gauge, value: Value) => void,
  ): void => {
    void new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        const value = await readNow(read);
        this.reset();
        if (value !== null) set(this, value);
        else if (labelNames.length === 0) this.remove();
      },
    });
  };
  return {
    gauge: (name, help, read) => add([name, help, []], read, (gauge, value) => gauge.set(value)),
    labelledGauge: (name, help, label, read) =>
      add([name, help, [label]], read, (gauge, values) => {
        for (const [of, value] of Object.entries(values)) gauge.set({ [label]: of }, value);
      }),
    info: (name, help, labelNames, read) =>
      add([name, help, labelNames], read, (gauge, labels) => gauge.set({ ...labels }, 1)),
  };
}

/** A figure that cannot be read takes no other one with it. */
async function readNow<Value>(read: () => Value | null | Promise<Value | null>): Promise<Value | null> {
  try {
    return await read();
  } catch {
    return null;
  }
}

/** Counted in a map, and handed to the library when it is asked for. */
function labelledCounter<Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelName: string,
  labels: readonly Label[],
): (label: Label, count: number) => void {
  const counts = new Map<string, number>(labels.map((label) => [label, 0]));
  void new Counter({
    name,
    help,
    labelNames: [labelName],
    registers: [registry],
    collect() {
      this.reset();
      for (const [label, count] of counts) this.inc({ [labelName]: label }, count);
    },
  });
  return (label, count) => void counts.set(label, (counts.get(label) ?? 0) + count);
}
