/**
 * Figures of the last hour: a few metric series, sampled every few seconds for plots and alarm rules. Values are parsed from the text of
 * a scrape. In memory only: empty after a restart.
 */
import type { Cancel, Clock } from '../lib/clock.ts';
import { figuresEveryMs, figuresKept } from '../model/console-limits.ts';
import type { Exposition } from './metrics.ts';

export type FiguresJson = ReturnType<FigureHistory['read']>;

/** A sampled metric: name of its series, and the label that distinguishes them; other labels are summed up. */
interface NotedMetric {
  readonly name: string;
  readonly label?: string;
}

export type NotedMetrics = ReadonlyMap<string, NotedMetric>;

export interface NotedFigures {
  readonly noted: NotedMetrics;
  readonly everyMs: number;
  /** Number of samples. */
  readonly kept: number;
}

/** Figures plotted by the console. */
const plotted: NotedMetrics = new Map([
  ['reveille_sleep_sessions', { name: 'sleep_sessions' }],
  ['reveille_signal_sessions', { name: 'signal_sessions' }],
  ['reveille_sleep_logins_total', { name: 'sleep_logins', label: 'result' }],
  ['reveille_signal_logins_total', { name: 'signal_logins', label: 'result' }],
  ['reveille_wakeups_total', { name: 'wakeups', label: 'outcome' }],
  ['reveille_wakeup_to_online_seconds_bucket', { name: 'woke_within', label: 'le' }],
  ['reveille_events_total', { name: 'events', label: 'type' }],
  ['reveille_http_request_duration_seconds_count', { name: 'requests', label: 'route' }],
  ['reveille_http_long_poll_duration_seconds_count', { name: 'long_polls', label: 'route' }],
  ['reveille_webhook_deliveries_total', { name: 'webhook_deliveries', label: 'result' }],
  ['reveille_webhook_backlog_events', { name: 'webhook_backlog', label: 'state' }],
  ['reveille_calls', { name: 'calls', label: 'state' }],
  ['reveille_registry_entries', { name: 'registry', label: 'kind' }],
  ['reveille_disk_free_bytes', { name: 'disk_free_bytes' }],
  ['nodejs_eventloop_lag_p99_seconds', { name: 'loop_delay_p99' }],
  ['process_cpu_seconds_total', { name: 'cpu_seconds' }],
  ['process_resident_memory_bytes', { name: 'memory_bytes' }],
]);

export interface FigureHistoryDeps {
  readonly clock: Clock;
  readonly exposition: Pick<Exposition, 'expose'>;
}

const plots: NotedFigures = { noted: plotted, everyMs: figuresEveryMs, kept: figuresKept };

export class FigureHistory {
  readonly #deps: FigureHistoryDeps;
  readonly #figures: NotedFigures;
  /** Ring buffers with one value per sample; once full, the oldest is at `#count % #kept`. */
  readonly #series = new Map<string, Float64Array>();
  readonly #atMs: Float64Array;
  /** Total number of samples since the start. */
  #count = 0;
  readonly #peaks = new Map<string, number>();
  #lastMs = 0;
  #isReading = false;

  constructor(deps: FigureHistoryDeps, figures = plots) {
    this.#deps = deps;
    this.#figures = figures;
    this.#atMs = new Float64Array(figures.kept);
  }

  /** Samples now, then periodically until cancelled. */
  start(): Cancel {
    void this.record();
    return this.#deps.clock.every(this.#figures.everyMs, () => void this.record());
  }

  /** Never rejects: unreadable figures are skipped, and so is a sample requested while another is being read. */
  async record(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      this.#add(readFigures(await this.#deps.exposition.expose(), this.#figures.noted));
    } catch {
      // The ops listener logs faults of the metrics when it is scraped.
    } finally {
      this.#isReading = false;
    }
  }

  /** Samples after `after`, which is a `next` from an earlier call. */
  read(after: number) {
    // A cursor from before a restart may exceed the count: then all samples are new.
    const from = Math.max(after > this.#count ? 0 : after, this.#count - this.#figures.kept, 0);
    const places = Array.from({ length: this.#count - from }, (_, at) => (from + at) % this.#figures.kept);
    const series = Array.from(this.#series, ([name, values]) => {
      return [name, places.map((place) => numberOrNull(values[place]))] as [
        string,
        readonly (number | null)[],
      ];
    });
    return {
      every_ms: this.#figures.everyMs,
      // Pass it as `after` to read the samples that follow.
      next: this.#count,
      // Wall milliseconds of each sample, ascending.
      at_ms: places.map((place) => this.#atMs[place] ?? 0),
      // One value per sample; null: no value. Counters count from the start of the server.
      series: Object.fromEntries(series),
    };
  }

  /** Wall milliseconds of the last sample. */
  get lastMs(): number {
    return this.#lastMs;
  }

  /** Time between the oldest sample and the last, milliseconds. */
  get spanMs(): number {
    return Math.max(0, Math.min(this.#count, this.#figures.kept) - 1) * this.#figures.everyMs;
  }

  /** All label values seen for a metric; empty: it has no label. */
  labels(name: string): string[] {
    const begin = `${name}.`;
    return [...this.#series.keys()].flatMap((key) =>
      key.startsWith(begin) ? [key.slice(begin.length)] : [],
    );
  }

  /** Highest value since the start; null: none. */
  peakOf(series: string): number | null {
    return this.#peaks.get(series) ?? null;
  }

  /** Value `agoMs` before the last sample; null: none. */
  valueAt(series: string, agoMs: number): number | null {
    const ago = Math.round(agoMs / this.#figures.everyMs);
    if (ago >= Math.min(this.#count, this.#figures.kept)) return null;
    return numberOrNull(this.#series.get(series)?.[(this.#count - 1 - ago) % this.#figures.kept]);
  }

  /** First value within the last `ms`; null: none. */
  firstWithin(series: string, ms: number): number | null {
    for (let agoMs = Math.min(ms, this.spanMs); agoMs >= 0; agoMs -= this.#figures.everyMs) {
      const value = this.valueAt(series, agoMs);
      if (value !== null) return value;
    }
    return null;
  }

  #add(figures: ReadonlyMap<string, number>): void {
    const place = this.#count % this.#figures.kept;
    // The wall clock may step back; plots need ascending times.
    this.#lastMs = Math.max(this.#lastMs + 1, this.#deps.clock.wallMs());
    this.#atMs[place] = this.#lastMs;
    for (const values of this.#series.values()) values[place] = NaN;
    for (const [name, value] of figures) {
      this.#seriesOf(name)[place] = value;
      this.#peaks.set(name, Math.max(value, this.#peaks.get(name) ?? value));
    }
    this.#count += 1;
  }

  /** Bounded: labels of metrics come from fixed sets. */
  #seriesOf(name: string): Float64Array {
    const values = this.#series.get(name) ?? new Float64Array(this.#figures.kept).fill(NaN);
    this.#series.set(name, values);
    return values;
  }
}

function numberOrNull(value: number | undefined): number | null {
  return value === undefined || !Number.isFinite(value) ? null : value;
}

const sampleForm = /^([a-z_0-9]+)(?:\{(.*)\})? (\S+)$/;

/** Parses the text of a scrape. Returns values by series name. */
export function readFigures(text: string, noted = plotted): Map<string, number> {
  const figures = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, metric = '', labels = '', value = ''] = sampleForm.exec(line) ?? [];
    const { name, label } = noted.get(metric) ?? {};
    if (name === undefined) continue;
    const series = label === undefined ? name : `${name}.${labelIn(labels, label)}`;
    figures.set(series, (figures.get(series) ?? 0) + Number(value));
  }
  return figures;
}

/** Labels come from fixed sets that need no escaping. */
function labelIn(labels: string, name: string): string {
  const begin = `${name}="`;
  const found = labels.split(',').find((each) => each.startsWith(begin)) ?? '';
  return found.slice(begin.length, -1);
}
