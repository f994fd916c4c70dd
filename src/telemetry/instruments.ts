/**
 * The kinds of metric, on top of the library's registry. Counting is a hot path and allocates nothing; gauges are read at the scrape.
 * Metrics are exposed in the order of their declaration.
 */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { RequestHistogram } from './request-histogram.ts';

type Labelled = Readonly<Record<string, number>>;
/** The value of a gauge; without one it is not exposed. */
type Reading<Value> = () => Value | null | undefined | Promise<Value | null | undefined>;

export type Instruments = ReturnType<typeof instrumentsOver>;

/** The full name of a metric: of this program, unless it is one of Node's or of the process. */
export function metricOf(name: string): string {
  return /^(?:nodejs_|process_(?:open|max)_)/.test(name) ? name : `reveille_${name}`;
}

/** Upper bounds of buckets, seconds. */
const requestBoundsS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Names are given without `reveille_`, and those of counters without `_total`. `advance`: called with each count. `requests`: receives the request histograms. */
export function instrumentsOver(registry: Registry, requests: RequestHistogram[], advance: () => void) {
  const registers = [registry];

  function readGauge<Value>(
    [name, help, labelNames]: readonly [name: string, help: string, labelNames: readonly string[]],
    read: Reading<Value>,
    set: (gauge: Gauge, value: Value) => void,
  ): void {
    void new Gauge({
      name: metricOf(name),
      help,
      labelNames,
      registers,
      async collect() {
        const value = await readNow(read);
        this.reset();
        if (value !== undefined) set(this, value);
        else if (labelNames.length === 0) this.remove();
      },
    });
  }

  return {
    /** A counter with one label; `labels` are exposed as 0 from the start. Kept in a map, and passed to the library at the scrape. */
    counter<const Label extends string>(
      name: string,
      help: string,
      labelName: string,
      labels: readonly Label[],
    ) {
      const counts = new Map<string, number>(labels.map((label) => [label, 0]));
      void new Counter({
        name: metricOf(`${name}_total`),
        help,
        labelNames: [labelName],
        registers,
        collect() {
          this.reset();
          for (const [label, count] of counts) this.inc({ [labelName]: label }, count);
        },
      });
      return (label: Label, count = 1): void => {
        counts.set(label, (counts.get(label) ?? 0) + count);
        advance();
      };
    },

    /** A counter without a label; adds several at a time. */
    total(name: string, help: string) {
      const counter = new Counter({ name: metricOf(`${name}_total`), help, registers });
      return (count: number): void => counter.inc(count);
    },

    /** `boundsS`: upper bounds of the buckets, seconds, ascending. */
    histogram(name: string, help: string, boundsS = requestBoundsS) {
      const histogram = new Histogram({ name: metricOf(name), help, buckets: boundsS, registers });
      return (seconds: number): void => histogram.observe(seconds);
    },

    /** A histogram for each route, HTTP status and code; `boundsS` as above. */
    requestHistogram(name: string, help: string, boundsS = requestBoundsS) {
      const histogram = new RequestHistogram(metricOf(name), help, boundsS);
      requests.push(histogram);
      return (route: string, status: number, code: number, seconds: number): void => {
        histogram.observe(route, status, code, seconds);
        advance();
      };
    },

    /** If `read` returns null or fails, the gauge has no value; so for all gauges below. */
    gauge(name: string, help: string, read: Reading<number>): void {
      readGauge([name, help, []], read, (gauge, value) => gauge.set(value));
    },

    labelledGauge(name: string, help: string, label: string, read: Reading<Labelled>): void {
      readGauge([name, help, [label]], read, (gauge, values) => {
        for (const [of, value] of Object.entries(values)) gauge.set({ [label]: of }, value);
      });
    },

    /** Always 1; the information is in the labels. */
    info(name: string, help: string, labels: readonly string[], read: Reading<Record<string, string>>) {
      readGauge([name, help, labels], read, (gauge, values) => gauge.set(values, 1));
    },
  };
}

/** A failed read affects no other metric. */
async function readNow<Value>(read: Reading<Value>): Promise<Value | undefined> {
  try {
    return (await read()) ?? undefined;
  } catch {
    return undefined;
  }
}
