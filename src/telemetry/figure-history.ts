/**
 * Figures of the last hour: a few series of the metrics, noted every few seconds, so that a plot has a past when it is opened,
 * and a rule of the alarms has one to compare with. They are read from the text of a scrape. Kept in memory: a restart begins
 * with none.
 */
import type { Cancel, Clock } from '../lib/clock.ts';
import { figuresEveryMs, figuresKept } from '../model/console-limits.ts';
import type { Exposition } from './metrics.ts';

export interface FiguresJson {
  readonly every_ms: number;
  /** Pass it back as `after`: the notes behind it follow. */
  readonly next: number;
  /** Wall milliseconds of each note, rising. */
  readonly at_ms: readonly number[];
  /** A value for each note; null: there was none then. Counters are as they are counted, from the start of the server. */
  readonly series: Readonly<Record<string, readonly (number | null)[]>>;
}

/** A metric that is noted: under which name, and by which of its labels; others are added up. */
interface NotedMetric {
  readonly name: string;
  readonly label?: string;
}

/** By the name of the metric. */
export type NotedMetrics = ReadonlyMap<string, NotedMetric>;

export interface NotedFigures {
  readonly noted: NotedMetrics;
  readonly everyMs: number;
  /** Notes. */
  readonly kept: number;
}

/** The figures that people look at. */
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
  readonly #noted: NotedMetrics;
  readonly #everyMs: number;
  readonly #kept: number;
  /** One value for each note kept, the oldest at `#count % #kept` once all are used. */
  readonly #series = new Map<string, Float64Array>();
  readonly #atMs: Float64Array;
  /** Notes there ever were. */
  #count = 0;
  readonly #peaks = new Map<string, number>();
  #lastMs = 0;
  #isReading = false;

  constructor(deps: FigureHistoryDeps, { noted, everyMs, kept }: NotedFigures = plots) {
    this.#deps = deps;
    this.#noted = noted;
    this.#everyMs = everyMs;
    this.#kept = kept;
    this.#atMs = new Float64Array(kept);
  }

  /** Notes the figures now, and every so often until it is cancelled. */
  start(): Cancel {
    void this.note();
    return this.#deps.clock.every(this.#everyMs, () => void this.note());
  }

  /** Never rejects: figures that cannot be read now are not noted. One that is asked for while another is read is left out. */
  async note(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      this.#add(readFigures(await this.#deps.exposition.expose(), this.#noted));
    } catch {
      // The listener logs what is wrong with the metrics when they are asked for.
    } finally {
      this.#isReading = false;
    }
  }

  /** The notes that are kept behind `after`, a `next` of before. */
  read(after: number): FiguresJson {
    // One of before a restart may be greater than there are: then all are new.
    const from = Math.max(after > this.#count ? 0 : after, this.#count - this.#kept, 0);
    const places = Array.from({ length: this.#count - from }, (_, at) => (from + at) % this.#kept);
    const series = Array.from(this.#series, ([name, values]) => {
      return [name, places.map((place) => numberOrNull(values[place]))] as const;
    });
    return {
      every_ms: this.#everyMs,
      next: this.#count,
      at_ms: places.map((place) => this.#atMs[place] ?? 0),
      series: Object.fromEntries(series),
    };
  }

  /** Wall milliseconds of the last note. */
  get lastMs(): number {
    return this.#lastMs;
  }

  /** The time between the oldest note and the last one. */
  get spanMs(): number {
    return Math.max(0, Math.min(this.#count, this.#kept) - 1) * this.#everyMs;
  }

  /** Labels by which the series of a metric are told apart, of all that there were; empty: it has none. */
  labels(name: string): string[] {
    const begin = `${name}.`;
    return [...this.#series.keys()].flatMap((key) =>
      key.startsWith(begin) ? [key.slice(begin.length)] : [],
    );
  }

  /** The highest value since the start; null: there was none. */
  peakOf(series: string): number | null {
    return this.#peaks.get(series) ?? null;
  }

  /** The value so long before the last note; null: there was none, or no note. */
  valueAt(series: string, agoMs: number): number | null {
    const ago = Math.round(agoMs / this.#everyMs);
    if (ago >= Math.min(this.#count, this.#kept)) return null;
    return numberOrNull(this.#series.get(series)?.[(this.#count - 1 - ago) % this.#kept]);
  }

  /** The first value that is no older; null: there is none. */
  firstWithin(series: string, ms: number): number | null {
    for (let agoMs = Math.min(ms, this.spanMs); agoMs >= 0; agoMs -= this.#everyMs) {
      const value = this.valueAt(series, agoMs);
      if (value !== null) return value;
    }
    return null;
  }

  #add(figures: ReadonlyMap<string, number>): void {
    const place = this.#count % this.#kept;
    // The wall clock may step back; a plot goes on.
    this.#lastMs = Math.max(this.#lastMs + 1, this.#deps.clock.wallMs());
    this.#atMs[place] = this.#lastMs;
    for (const values of this.#series.values()) values[place] = NaN;
    for (const [name, value] of figures) {
      this.#seriesOf(name)[place] = value;
      this.#peaks.set(name, Math.max(value, this.#peaks.get(name) ?? value));
    }
    this.#count += 1;
  }

  /** Bounded by the labels of the metrics, which are words of ours. */
  #seriesOf(name: string): Float64Array {
    const values = this.#series.get(name) ?? new Float64Array(this.#kept).fill(NaN);
    this.#series.set(name, values);
    return values;
  }
}

function numberOrNull(value: number | undefined): number | null {
  return value === undefined || !Number.isFinite(value) ? null : value;
}

const sampleForm = /^([a-z_0-9]+)(?:\{(.*)\})? (\S+)$/;

/** Series by name, of the text of a scrape. */
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

/** Labels are words of ours, in which nothing is escaped. */
function labelIn(labels: string, name: string): string {
  const begin = `${name}="`;
  const found = labels.split(',').find((each) => each.startsWith(begin)) ?? '';
  return found.slice(begin.length, -1);
}
