/**
 * Every gauge of the server, declared once: its name, its help and what it is read from at a scrape. Names and labels are
 * those of running.md; never a device id in a label.
 */
import { countOpenFiles } from '../lib/open-files-count.ts';
import { readVersion } from '../lib/package-version.ts';
import type { LiveCallState } from '../model/call.ts';
import type { ShownMemberState } from '../model/cluster.ts';
import { declareFrontGauges, type FrontsFigures } from './front-gauges.ts';
import type { Instruments } from './instruments.ts';
import { roomOf, type MediaCapacity, type WorkerLoad } from '../model/media/media-capacity.ts';

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
  /** Calls without a bridge by what they wait for. */
  callsWaiting(): Readonly<Record<'bridge' | 'load' | 'engine', number>>;
  /** Of each media process that is linked and has told. */
  mediaCapacity(): readonly MediaCapacity[];
  /** Media processes that take legs. */
  mediaUp(): number;
  /** Empty: the server has no edges. */
  processes(): readonly ProcessFigures[];
  /** Null: the API has no fronts. */
  fronts(): FrontsFigures | null;
  /** As this process meets it. Null: not yet. */
  store(): StoreFigures | null;
  /** Null: there is no cluster of nodes. */
  cluster(): ClusterFigures | null;
  /** Null: another process has them, or nobody yet. */
  server(): ServerFigures | null;
}

/** The health of the store. */
export interface StoreFigures {
  readonly refuses: boolean;
  /** Files in which a reader has met a damaged page or row, since the start. */
  readonly damagedFiles: number;
  /** Changes in memory that it has not taken. */
  readonly waiting: number;
}

/** The state of a node among the others. */
export interface ClusterFigures {
  readonly natsIsThere: boolean;
  readonly members: Readonly<Record<ShownMemberState, number>>;
  /** Age of the knowledge of other members; null: there is none yet. */
  readonly knowledgeAgeMs: number | null;
  /** Changes that other members do not see yet. */
  readonly outboxLength: number;
  /** Events of the log, and changes of the registry, that are not here yet. */
  readonly eventLag: number;
  readonly registryLag: number;
}

/** The core or an edge. */
export interface ProcessFigures {
  readonly name: string;
  readonly isUp: boolean;
  /** Restarts by its supervisor; null: it is on another machine. */
  readonly restarts: number | null;
}

/** Figures of what a server has one of, however many processes it has. Null: not known now. None waits for long. */
export interface ServerFigures {
  /** Of each file of the store. */
  storeBytes(): Promise<Readonly<Record<string, number>>>;
  storeMapBytes(): Readonly<Record<string, number>>;
  /** Of the file system of the data directory, for who is not root. */
  disk(): Promise<{ readonly freeBytes: number; readonly bytes: number } | null>;
  /** Entries by kind. */
  registryEntries(): Readonly<Record<string, number>>;
  webhooks(): Promise<WebhookFigures | null>;
  /** By listener, in Unix seconds; only where TLS is on. */
  certificateExpiriesS(): Readonly<Record<string, number>>;
}

/** Sums of all webhooks; of those that are off only their number, and what is parked. */
export interface WebhookFigures {
  readonly hooks: Readonly<Record<'on' | 'open-circuit' | 'off', number>>;
  /** `behind`: of the log, not looked at yet; `failed`: waits for a retry; `parked`: given up. */
  readonly backlog: Readonly<Record<'behind' | 'failed' | 'parked', number>>;
  /** Age of the oldest event that is behind or failed, 0 when there is none. */
  readonly oldestS: number;
}

export type GaugeInstruments = Pick<Instruments, 'gauge' | 'labelledGauge' | 'info'>;

export function declareGauges(instruments: GaugeInstruments, sources: MetricSources): void {
  const { gauge, labelledGauge } = instruments;
  gauge('reveille_sleep_sessions', 'Sleep sessions open now.', () => sources.sleepSessions());
  gauge('reveille_signal_sessions', 'Signal sessions open now.', () => sources.signalSessions());
  labelledGauge('reveille_connections', 'Open connections by listener.', 'listener', () =>
    sources.connections(),
  );
  labelledGauge('reveille_calls', 'Live call sessions by state.', 'state', () => sources.calls());
  labelledGauge('reveille_media_legs', 'Connected to the media listener now.', 'leg', () =>
    sources.mediaLegs(),
  );
  gauge('reveille_media_up', 'Media processes that are linked and take legs.', () => sources.mediaUp());
  declareMediaGauges(labelledGauge, sources);
  declareProcessGauges(instruments, sources);
  declareFrontGauges(instruments, () => sources.fronts());
  gauge('process_open_fds', 'Open file descriptors of the process.', () => countOpenFiles());
  declareStoreGauges(gauge, () => sources.store());
  declareServerGauges(instruments, () => sources.server());
  declareClusterGauges(instruments, () => sources.cluster());
}

function declareStoreGauges(gauge: GaugeInstruments['gauge'], store: () => StoreFigures | null): void {
  const add = (name: string, help: string, read: (figures: StoreFigures) => number): void =>
    gauge(`reveille_store_${name}`, help, () => readOf(store(), read));
  add('refuses', 'Processes whose store refuses writes now.', ({ refuses }) => Number(refuses));
  add('damaged_files', 'Files in which a reader met damage since the start.', (found) => found.damagedFiles);
  add('waiting_changes', 'Changes in memory that the store has not taken.', ({ waiting }) => waiting);
}

function readOf<Figures>(figures: Figures | null, read: (figures: Figures) => number | null): number | null {
  return figures === null ? null : read(figures);
}

/** Workers are numbered through all processes: `1-0` is the first of the second process, where there are several. */
function declareMediaGauges(labelledGauge: GaugeInstruments['labelledGauge'], sources: MetricSources): void {
  const byWorker = (read: (worker: WorkerLoad) => number): Record<string, number> =>
    Object.fromEntries(
      sources
        .mediaCapacity()
        .flatMap(({ process, workers }) =>
          workers.map((worker, n) => [process === 0 ? `${n}` : `${process}-${n}`, read(worker)]),
        ),
    );
  labelledGauge(
    'reveille_calls_waiting',
    'Calls without a bridge by what they wait for: a bridge, load to fall, or a decoder.',
    'for',
    () => sources.callsWaiting(),
  );
  labelledGauge(
    'reveille_media_worker_load',
    'Busy share of the time of each worker that makes pictures, 0 to 1.',
    'worker',
    () => byWorker(({ busy }) => busy),
  );
  labelledGauge(
    'reveille_media_worker_taken',
    'Share of the time of each worker that its calls are counted with, 0 to 1: by it a call is admitted.',
    'worker',
    () => byWorker(({ taken }) => taken),
  );
  labelledGauge('reveille_media_room', 'Calls that each media process has room for.', 'media_process', () =>
    Object.fromEntries(sources.mediaCapacity().map((capacity) => [capacity.process, roomOf(capacity)])),
  );
}

function declareProcessGauges({ labelledGauge }: GaugeInstruments, sources: MetricSources): void {
  const up = 'With edges: 1 while the core or an edge serves, else 0.';
  labelledGauge('reveille_process_up', up, 'process', () =>
    Object.fromEntries(sources.processes().map(({ name, isUp }) => [name, Number(isUp)])),
  );
  const restarts = 'With edges: restarts of the core and of each local edge.';
  labelledGauge('reveille_process_restarts', restarts, 'process', () =>
    Object.fromEntries(
      sources.processes().flatMap(({ name, restarts: n }) => (n === null ? [] : [[name, n]])),
    ),
  );
}

function declareServerGauges(
  { gauge, labelledGauge, info }: GaugeInstruments,
  server: () => ServerFigures | null,
): void {
  info(
    'reveille_build_info',
    'The release, and the Node.js that runs it; always 1.',
    ['version', 'node'],
    () => (server() === null ? null : { version: readVersion(), node: process.versions.node }),
  );
  labelledGauge(
    'reveille_store_bytes',
    'Size of each file of the store.',
    'file',
    async () => (await server()?.storeBytes()) ?? null,
  );
  const map =
    'Size of the memory map of each file of the store, which grows by itself before the file reaches it.';
  labelledGauge('reveille_store_map_bytes', map, 'file', () => server()?.storeMapBytes() ?? null);
  gauge(
    'reveille_disk_free_bytes',
    'Free bytes of the file system that has the data directory, for who is not root.',
    async () => (await server()?.disk())?.freeBytes ?? null,
  );
  gauge(
    'reveille_disk_bytes',
    'Size of the file system that has the data directory.',
    async () => (await server()?.disk())?.bytes ?? null,
  );
  labelledGauge(
    'reveille_registry_entries',
    'Entries of the registry by kind.',
    'kind',
    () => server()?.registryEntries() ?? null,
  );
  const certificates = 'When the certificate of the listener expires, in Unix seconds.';
  labelledGauge(
    'reveille_certificate_expiry_timestamp_seconds',
    certificates,
    'listener',
    () => server()?.certificateExpiriesS() ?? null,
  );
  declareWebhookGauges({ gauge, labelledGauge }, async () => (await server()?.webhooks()) ?? null);
}

/** Of nodes only the one that delivers has a value. */
function declareWebhookGauges(
  { gauge, labelledGauge }: Pick<GaugeInstruments, 'gauge' | 'labelledGauge'>,
  webhooks: () => Promise<WebhookFigures | null>,
): void {
  labelledGauge(
    'reveille_webhooks',
    'Webhooks by state.',
    'state',
    async () => (await webhooks())?.hooks ?? null,
  );
  labelledGauge(
    'reveille_webhook_backlog_events',
    'Events that webhooks have not delivered: behind in the log, failed and to be tried again, or parked.',
    'state',
    async () => (await webhooks())?.backlog ?? null,
  );
  gauge(
    'reveille_webhook_oldest_event_seconds',
    'Age of the oldest event that is behind or failed; 0: there is none.',
    async () => (await webhooks())?.oldestS ?? null,
  );
}

/** Without a cluster they have no value. */
function declareClusterGauges(
  { gauge, labelledGauge }: GaugeInstruments,
  cluster: () => ClusterFigures | null,
): void {
  const add = (name: string, help: string, read: (figures: ClusterFigures) => number | null): void =>
    gauge(`reveille_cluster_${name}`, help, () => readOf(cluster(), read));
  add('nats_up', '1 while NATS is reached, else 0.', ({ natsIsThere }) => Number(natsIsThere));
  add('outbox_length', 'Changes that other members do not see yet.', ({ outboxLength }) => outboxLength);
  add('event_lag_events', 'Events of the log that are not here yet.', ({ eventLag }) => eventLag);
  const registryLag = 'Changes of the registry that are not here yet.';
  add('registry_lag_changes', registryLag, (figures) => figures.registryLag);
  const age = 'Age of what this node knows of the other members.';
  add('knowledge_age_seconds', age, ({ knowledgeAgeMs: ms }) => (ms === null ? null : ms / 1000));
  labelledGauge('reveille_cluster_members', 'Members by state.', 'state', () => cluster()?.members ?? null);
}
