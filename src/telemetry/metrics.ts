/**
 * The metrics of one process as Prometheus reads them. Counting is on the hot path and allocates nothing; text is made, and
 * gauges are read, at the scrape.
 */
import { collectDefaultMetrics, Counter, Registry, Gauge } from 'prom-client';
import { DurationHistogram, RequestHistogram } from './duration-histogram.ts';
import { declareMetrics, type Telemetry } from './telemetry.ts';
import type { LiveCallState } from '../model/call.ts';
import type { MemberState } from '../model/cluster.ts';

export interface MetricSources {
  /** Sleep sessions open now. */
  sleepSessions(): number;
  /** Signal sessions open now. */
  signalSessions(): number;
  /** Open connections of this process by listener, but for those of the media process. */
  connections(): Readonly<Record<string, number>>;
  /** Live call sessions by state. */
  calls(): Readonly<Record<LiveCallState, number>>;
  /** Legs, idle bridges and viewers connected to the media listener now. */
  mediaLegs(): Readonly<Record<'device' | 'bridge' | 'idle_bridge' | 'viewer', number>>;
  /** Busy share of the time of each media worker, 0 to 1; empty: none is known. */
  mediaLoads(): readonly number[];
  mediaIsUp(): boolean;
  /** Null: there is no cluster of nodes. */
  cluster(): ClusterFigures | null;
}

/** The state of a node among the others. */
export interface ClusterFigures {
  readonly natsIsThere: boolean;
  readonly members: Readonly<Record<MemberState, number>>;
  /** Changes that other members do not see yet. */
  readonly outboxLength: number;
  /** Events of the log, and changes of the registry, that are not here yet. */
  readonly eventLag: number;
  readonly registryLag: number;
}

class Gauges {
  readonly #registers: Registry[];

  constructor(registry: Registry) {
    this.#registers = [registry];
  }

  /** `read`: at a scrape; null: it has no value now. */
  add(name: string, help: string, read: () => number | null): void {
    void new Gauge({
      name,
      help,
      registers: this.#registers,
      collect() {
        const value = read();
        if (value === null) this.remove();
        else this.set(value);
      },
    });
  }

  /** A value for each of the label's. */
  addLabelled(name: string, help: string, label: string, read: () => Readonly<Record<string, number>>): void {
    void new Gauge({
      name,
      help,
      labelNames: [label],
      registers: this.#registers,
      collect() {
        this.reset();
        for (const [of, value] of Object.entries(read())) this.set({ [label]: of }, value);
      },
    });
  }
}

function registerGauges(gauges: Gauges, sources: MetricSources): void {
  gauges.add('reveille_sleep_sessions', 'Sleep sessions open now.', () => sources.sleepSessions());
  gauges.add('reveille_signal_sessions', 'Signal sessions open now.', () => sources.signalSessions());
  gauges.addLabelled('reveille_connections', 'Open connections by listener.', 'listener', () =>
    sources.connections(),
  );
  gauges.addLabelled('reveille_calls', 'Live call sessions by state.', 'state', () => sources.calls());
  gauges.addLabelled('reveille_media_legs', 'Connected to the media listener now.', 'leg', () =>
    sources.mediaLegs(),
  );
  gauges.add('reveille_media_up', '1 while a media process is linked, else 0.', () =>
    Number(sources.mediaIsUp()),
  );
  const load = 'Busy share of the time of each worker that makes pictures, 0 to 1.';
  gauges.addLabelled('reveille_media_worker_load', load, 'worker', () =>
    Object.fromEntries(sources.mediaLoads().entries()),
  );
  registerClusterGauges(gauges, sources);
}

/** Without a cluster they have no value. */
function registerClusterGauges(gauges: Gauges, { cluster }: Pick<MetricSources, 'cluster'>): void {
  const add = (name: string, help: string, read: (figures: ClusterFigures) => number): void =>
    gauges.add(`reveille_cluster_${name}`, help, () => {
      const figures = cluster();
      return figures === null ? null : read(figures);
    });
  add('nats_up', '1 while NATS is reached, else 0.', ({ natsIsThere }) => Number(natsIsThere));
  add('outbox_length', 'Changes that other members do not see yet.', ({ outboxLength }) => outboxLength);
  add('event_lag_events', 'Events of the log that are not here yet.', ({ eventLag }) => eventLag);
  const registryLag = 'Changes of the registry that are not here yet.';
  add('registry_lag_changes', registryLag, (figures) => figures.registryLag);
  gauges.addLabelled(
    'reveille_cluster_members',
    'Members by state.',
    'state',
    () => cluster()?.members ?? {},
  );
}

/** A text that Prometheus scrapes. */
export interface Exposition {
  readonly contentType: string;
  /** The whole text of a scrape. */
  expose(): Promise<string>;
}

export type Metrics = Telemetry & Exposition;

/** The library's own that walk every descriptor or handle of the process: with a million sockets, a stall. */
const costlyAtScale: readonly string[] = [
  'process_open_fds',
  'nodejs_active_resources',
  'nodejs_active_resources_total',
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests',
  'nodejs_active_requests_total',
];

export function createMetrics(sources: MetricSources): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of costlyAtScale) registry.removeSingleMetric(name);
  registerGauges(new Gauges(registry), sources);
  const histograms: (DurationHistogram | RequestHistogram)[] = [];
  const telemetry = declareMetrics({
    counter: (name, help, labelName, labels) => {
      const add = labelledCounter(registry, name, help, labelName, labels);
      return (label) => add(label, 1);
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
      return (route, status, code, seconds) => histogram.observe(route, status, code, seconds);
    },
  });
  const expose = async (): Promise<string> => {
    const counted = await registry.metrics();
    return [counted, ...histograms.map((histogram) => histogram.expose())].join('\n');
  };
  return { ...telemetry, contentType: registry.contentType, expose };
}

/** Labels come from unions of a few words; were one not, what is beyond this would be counted as `other`. */
const labelsMax = 64;

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
  return (label, count) => {
    const counted = counts.has(label) || counts.size < labelsMax ? label : 'other';
    counts.set(counted, (counts.get(counted) ?? 0) + count);
  };
}
