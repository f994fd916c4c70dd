/**
 * Every gauge of the server, declared once: name, help and source of its value at a scrape. Names and labels: running.md; no label
 * has a device id.
 */
import { countOpenFiles } from '../lib/open-files-count.ts';
import { readVersion } from '../lib/package-version.ts';
import type { LiveCallState } from '../model/call.ts';
import type { ShownMemberState } from '../model/cluster.ts';
import { declareFrontGauges, type FrontsFigures } from './front-gauges.ts';
import type { Instruments } from './instruments.ts';
import { roomOf, type MediaCapacity, type WorkerLoad } from '../model/media/media-capacity.ts';

export interface MetricSources {
  sleepSessions(): number;
  signalSessions(): number;
  /** Open connections by listener, without those of the media process. */
  connections(): Readonly<Record<string, number>>;
  /** Live call sessions by state. */
  calls(): Readonly<Record<LiveCallState, number>> | undefined;
  /** Connections at the media listener. */
  mediaLegs(): Readonly<Record<'device' | 'bridge' | 'idle_bridge' | 'viewer', number>> | undefined;
  /** Calls without a bridge, by the resource they wait for. */
  callsWaiting(): Readonly<Record<'bridge' | 'load' | 'engine', number>> | undefined;
  /** One for each linked media process that has reported its capacity. */
  mediaCapacity(): readonly MediaCapacity[];
  /** Number of media processes that accept legs. */
  mediaUp(): number;
  /** Empty: the server has no edges. */
  processes(): readonly ProcessFigures[];
  /** Null: the API has no fronts. */
  fronts(): FrontsFigures | null;
  /** As seen by this process; null: not yet. */
  store(): StoreFigures | null;
  /** Null: no cluster. */
  cluster(): ClusterFigures | null;
  /** Null: another process has them, or they are not known yet. */
  server(): ServerFigures | null;
}

export interface StoreFigures {
  readonly refuses: boolean;
  /** Files in which reads found a damaged page or row since the start. */
  readonly damagedFiles: number;
  /** Changes in memory, not yet in the store. */
  readonly waiting: number;
}

/** State of the cluster as seen by this node. */
export interface ClusterFigures {
  readonly natsIsThere: boolean;
  readonly members: Readonly<Record<ShownMemberState, number>>;
  /** Age of the knowledge about other members; null: none yet. */
  readonly knowledgeAgeMs: number | null;
  /** Changes not yet published to other members. */
  readonly outboxLength: number;
  /** Events of the log not yet received here; `registryLag`: changes of the registry. */
  readonly eventLag: number;
  readonly registryLag: number;
}

export interface ProcessFigures {
  readonly name: string;
  readonly isUp: boolean;
  /** Restarts by its supervisor; null: on another machine. */
  readonly restarts: number | null;
}

/** Figures that a server has once, for any number of processes. Null: unknown now. Reads are short. */
export interface ServerFigures {
  /** Bytes by file of the store. */
  storeBytes(): Promise<Readonly<Record<string, number>>>;
  storeMapBytes(): Readonly<Record<string, number>>;
  /** File system of the data directory; free bytes as available without root. */
  disk(): Promise<{ readonly freeBytes: number; readonly bytes: number } | null>;
  /** Entries by kind. */
  registryEntries(): Readonly<Record<string, number>>;
  webhooks(): Promise<WebhookFigures | null>;
  /** Unix seconds by listener; only listeners with TLS. */
  certificateExpiriesS(): Readonly<Record<string, number>>;
}

/** Sums over all webhooks. Disabled ones count only in `hooks` and `parked`. */
export interface WebhookFigures {
  readonly hooks: Readonly<Record<'on' | 'open-circuit' | 'off', number>>;
  /** `behind`: not read from the log yet; `failed`: waits for a retry; `parked`: given up. */
  readonly backlog: Readonly<Record<'behind' | 'failed' | 'parked', number>>;
  /** Age of the oldest event that is behind or failed; 0: none. */
  readonly oldestS: number;
}

export type GaugeInstruments = Pick<Instruments, 'gauge' | 'labelledGauge' | 'info'>;

export function declareGauges(instruments: GaugeInstruments, sources: MetricSources): void {
  const { gauge, labelledGauge } = instruments;
  gauge('sleep_sessions', 'Sleep sessions open now.', () => sources.sleepSessions());
  gauge('signal_sessions', 'Signal sessions open now.', () => sources.signalSessions());
  labelledGauge('connections', 'Open connections by listener.', 'listener', () => sources.connections());
  labelledGauge('calls', 'Live call sessions by state.', 'state', () => sources.calls());
  labelledGauge('media_legs', 'Connections at the media listener by kind of leg.', 'leg', () =>
    sources.mediaLegs(),
  );
  gauge('media_up', 'Linked media processes that accept legs.', () => sources.mediaUp());
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
    gauge(`store_${name}`, help, () => readOf(store(), read));
  add('refuses', 'Processes whose store refuses writes now.', ({ refuses }) => Number(refuses));
  add(
    'damaged_files',
    'Store files in which reads found damage since the start.',
    (found) => found.damagedFiles,
  );
  add('waiting_changes', 'Changes in memory, not yet committed to the store.', ({ waiting }) => waiting);
}

function readOf<Figures>(figures: Figures | null, read: (figures: Figures) => number | null): number | null {
  return figures === null ? null : read(figures);
}

/** Worker labels: `0` in the first process; `1-0` is the first worker of the second. */
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
    'calls_waiting',
    'Calls without a bridge by the resource they wait for: a bridge, a lower load, or a decoder.',
    'for',
    () => sources.callsWaiting(),
  );
  labelledGauge('media_worker_load', 'Busy share of each transcoding worker, 0 to 1.', 'worker', () =>
    byWorker(({ busy }) => busy),
  );
  labelledGauge(
    'media_worker_taken',
    'Share of each transcoding worker reserved by its calls, 0 to 1; admission of calls is based on it.',
    'worker',
    () => byWorker(({ taken }) => taken),
  );
  labelledGauge('media_room', 'Calls for which each media process has room.', 'media_process', () =>
    Object.fromEntries(sources.mediaCapacity().map((capacity) => [capacity.process, roomOf(capacity)])),
  );
}

function declareProcessGauges({ labelledGauge }: GaugeInstruments, sources: MetricSources): void {
  const up = 'With edges: 1 while the core or an edge serves, else 0.';
  labelledGauge('process_up', up, 'process', () =>
    Object.fromEntries(sources.processes().map(({ name, isUp }) => [name, Number(isUp)])),
  );
  const restarts = 'With edges: restarts of the core and of each local edge.';
  labelledGauge('process_restarts', restarts, 'process', () =>
    Object.fromEntries(
      sources.processes().flatMap(({ name, restarts: n }) => (n === null ? [] : [[name, n]])),
    ),
  );
}

function declareServerGauges(
  { gauge, labelledGauge, info }: GaugeInstruments,
  server: () => ServerFigures | null,
): void {
  info('build_info', 'Release and Node.js version; always 1.', ['version', 'node'], () =>
    server() === null ? null : { version: readVersion(), node: process.versions.node },
  );
  labelledGauge('store_bytes', 'Size of each file of the store.', 'file', () => server()?.storeBytes());
  const map =
    'Size of the memory map of each file of the store; it grows automatically before the file reaches it.';
  labelledGauge('store_map_bytes', map, 'file', () => server()?.storeMapBytes());
  gauge(
    'disk_free_bytes',
    'Free bytes of the file system of the data directory, as available without root.',
    async () => (await server()?.disk())?.freeBytes,
  );
  gauge(
    'disk_bytes',
    'Size of the file system of the data directory.',
    async () => (await server()?.disk())?.bytes,
  );
  labelledGauge('registry_entries', 'Entries of the registry by kind.', 'kind', () =>
    server()?.registryEntries(),
  );
  const certificates = 'Expiry time of the certificate of the listener, Unix seconds.';
  labelledGauge('certificate_expiry_timestamp_seconds', certificates, 'listener', () =>
    server()?.certificateExpiriesS(),
  );
  declareWebhookGauges({ gauge, labelledGauge }, async () => server()?.webhooks());
}

/** In a cluster only the delivering node has values. */
function declareWebhookGauges(
  { gauge, labelledGauge }: Pick<GaugeInstruments, 'gauge' | 'labelledGauge'>,
  webhooks: () => Promise<WebhookFigures | null | undefined>,
): void {
  labelledGauge('webhooks', 'Webhooks by state.', 'state', async () => (await webhooks())?.hooks);
  labelledGauge(
    'webhook_backlog_events',
    'Undelivered webhook events: behind in the log, waiting for a retry, or parked.',
    'state',
    async () => (await webhooks())?.backlog,
  );
  gauge(
    'webhook_oldest_event_seconds',
    'Age of the oldest event that is behind or failed; 0: none.',
    async () => (await webhooks())?.oldestS,
  );
}

/** Without a cluster these gauges have no value. */
function declareClusterGauges(
  { gauge, labelledGauge }: GaugeInstruments,
  cluster: () => ClusterFigures | null,
): void {
  const add = (name: string, help: string, read: (figures: ClusterFigures) => number | null): void =>
    gauge(`cluster_${name}`, help, () => readOf(cluster(), read));
  add('nats_up', '1 while NATS is connected, else 0.', ({ natsIsThere }) => Number(natsIsThere));
  add('outbox_length', 'Changes not yet published to other members.', ({ outboxLength }) => outboxLength);
  add('event_lag_events', 'Events of the log not yet received by this node.', ({ eventLag }) => eventLag);
  const registryLag = 'Registry changes not yet received by this node.';
  add('registry_lag_changes', registryLag, (figures) => figures.registryLag);
  const age = 'Age of the knowledge about other members.';
  add('knowledge_age_seconds', age, ({ knowledgeAgeMs: ms }) => (ms === null ? null : ms / 1000));
  labelledGauge('cluster_members', 'Members by state.', 'state', () => cluster()?.members);
}
