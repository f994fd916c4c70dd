/** Gauges: how many there are now, read at the scrape and stored nowhere. */
import { Gauge, type Registry } from 'prom-client';
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

export function registerGauges(registry: Registry, sources: MetricSources): void {
  addGauge(registry, 'reveille_sleep_sessions', 'Sleep sessions open now.', () => sources.sleepSessions());
  addGauge(registry, 'reveille_signal_sessions', 'Signal sessions open now.', () => sources.signalSessions());
  addLabelledGauge(registry, 'reveille_connections', 'Open connections by listener.', 'listener', () =>
    sources.connections(),
  );
  addLabelledGauge(registry, 'reveille_calls', 'Live call sessions by state.', 'state', () =>
    sources.calls(),
  );
  addLabelledGauge(registry, 'reveille_media_legs', 'Connected to the media listener now.', 'leg', () =>
    sources.mediaLegs(),
  );
  addGauge(registry, 'reveille_media_up', '1 while a media process is linked, else 0.', () =>
    Number(sources.mediaIsUp()),
  );
  addLabelledGauge(
    registry,
    'reveille_media_worker_load',
    'Busy share of the time of each worker that makes pictures, 0 to 1.',
    'worker',
    () => Object.fromEntries(sources.mediaLoads().map((load, worker) => [worker, load])),
  );
  registerClusterGauges(registry, sources);
}

/** Without a cluster they have no value. */
function registerClusterGauges(registry: Registry, { cluster }: Pick<MetricSources, 'cluster'>): void {
  const add = (name: string, help: string, read: (figures: ClusterFigures) => number): void => {
    void new Gauge({
      name: `reveille_cluster_${name}`,
      help,
      registers: [registry],
      collect() {
        const figures = cluster();
        if (figures === null) this.remove();
        else this.set(read(figures));
      },
    });
  };
  add('nats_up', '1 while NATS is reached, else 0.', ({ natsIsThere }) => Number(natsIsThere));
  add('outbox_length', 'Changes that other members do not see yet.', ({ outboxLength }) => outboxLength);
  add('event_lag_events', 'Events of the log that are not here yet.', ({ eventLag }) => eventLag);
  add(
    'registry_lag_changes',
    'Changes of the registry that are not here yet.',
    (figures) => figures.registryLag,
  );
  addLabelledGauge(
    registry,
    'reveille_cluster_members',
    'Members by state.',
    'state',
    () => cluster()?.members ?? {},
  );
}

function addGauge(registry: Registry, name: string, help: string, read: () => number): void {
  void new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}

function addLabelledGauge(
  registry: Registry,
  name: string,
  help: string,
  labelName: string,
  read: () => Readonly<Record<string, number>>,
): void {
  void new Gauge({
    name,
    help,
    labelNames: [labelName],
    registers: [registry],
    collect() {
      this.reset();
      for (const [label, value] of Object.entries(read())) this.set({ [labelName]: label }, value);
    },
  });
}
