/**
 * What every server process has, whatever its part: the registry, the records, the devices that are here, who is told
 * of them, and what requests of theirs have in common. The doors are in front.ts, what there is one of in back.ts.
 */
import { hostname } from 'node:os';
import type { Clock } from '../../lib/clock.ts';
import type { DeviceActor } from '../../core/devices/device-actor.ts';
import { DeviceDirectory } from '../../core/devices/device-directory.ts';
import { WakeupWatch } from '../../core/wakeups/wakeup-watch.ts';
import type { ConnectionKind, MemberId } from '../../model/cluster.ts';
import type { EventType } from '../../model/events.ts';
import { messagesKnownMax } from '../../model/limits.ts';
import { AnswerMemory } from '../../core/messages/answer-memory.ts';
import { deviceReview } from '../../core/devices/disconnect-device.ts';
import { IssuedCalls } from '../../core/calls/issue-call-credentials.ts';
import type { ClusterDeps } from '../../core/devices/locate-device.ts';
import { MeasuredPeers } from '../../cluster/ipc/measured-peers.ts';
import type { MessageAnswer } from '../../core/messages/deliver-message.ts';
import type { RegistryReview } from '../../core/devices/registry-review.ts';
import { WakeupLimits } from '../../core/devices/request-limits.ts';
import { WakeupMemory } from '../../core/wakeups/wakeup-memory.ts';
import type { MetricSources } from '../../telemetry/metric-gauges.ts';
import { createMetrics, type Exposition } from '../../telemetry/metrics.ts';
import { Readiness } from '../../telemetry/readiness.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { ConnectionRecords } from '../../core/ports/connection-records.ts';
import type { Log } from '../../core/ports/log.ts';
import type { RegistryReader } from '../../core/ports/registry-reader.ts';
import type { Store } from '../../storage/lmdb/open-store.ts';
import { RegistryStore } from '../../storage/registry/registry-store.ts';
import { SigningKeyCache } from '../../protocol/tgv1/signature.ts';
import { ListenerConnections } from './listener-connections.ts';
import type { LiveTokenKeys } from '../../storage/keys/live-token-keys.ts';
import { openRecords, type Records, type SharedStoreDeps } from './records.ts';
import { wakeupLimitSettings } from '../config/gateway-settings.ts';
import type { Settings } from '../config/settings-schema.ts';

export interface ServerContext {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
  /** The name of this node, in events. */
  readonly node: string;
  readonly readiness: Readiness;
  readonly signingKeys: SigningKeyCache;
  readonly registry: RegistryStore;
  readonly records: Records;
  /** The same, where a login is committed once all members know it. */
  readonly sleepRecords: ConnectionRecords;
  readonly signalRecords: ConnectionRecords;
  readonly directory: DeviceDirectory;
  /** To be begun after every change of the registry. */
  readonly deviceReview: RegistryReview<DeviceActor>;
  readonly watch: WakeupWatch;
  /** What `telemetry` has counted. */
  readonly metrics: Exposition;
  readonly telemetry: Telemetry;
  readonly tokenKeys: LiveTokenKeys;
  readonly memory: WakeupMemory;
  readonly limits: WakeupLimits;
  readonly messages: AnswerMemory<MessageAnswer>;
  readonly issued: IssuedCalls;
  readonly connections: ListenerConnections;
  /** Members that share what an application may do; at least 1. */
  readonly sharers: () => number;
  /** Null: alone. */
  readonly cluster: ClusterDeps | null;
  /** True while it is being stopped: nothing new is begun. */
  isDraining(): boolean;
}

interface ContextDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly node: string;
  readonly tokenKeys: LiveTokenKeys;
  /** Null: this process writes the store alone. */
  readonly shared: SharedStoreDeps | null;
  /** Whose outbox commits go to; null: nobody's. */
  readonly outboxOf: MemberId | null;
  /** Of the open records; null: alone. */
  readonly cluster: (records: Records, deps: PeerDeps) => ClusterDeps | null;
  /** The records as others have to know them; behind `cluster`. */
  readonly claimed: (records: ConnectionRecords, connection: ConnectionKind) => ConnectionRecords;
  /** Members that share what an application may do; at least 1. */
  readonly sharers: (cluster: ClusterDeps | null) => number;
  /** All see every event of a log that they have in common: one of them counts it. */
  readonly countsEvents: boolean;
  readonly sources: MetricSources;
}

/** What is there when somebody asks another member, not before. */
export interface PeerDeps {
  readonly registry: RegistryReader;
  readonly directory: () => DeviceDirectory;
  /** An event of this process is where all see it. */
  readonly onEvent: (type: EventType) => void;
}

/** The name of this node, in events. */
export function nodeName({ cluster }: Pick<Settings, 'cluster'>): string {
  return cluster.node_name ?? hostname();
}

/** Throws when the store cannot be read. */
export function composeContext(settings: Settings, store: Store, frame: ContextDeps): ServerContext {
  const { clock, log, node, tokenKeys, shared, outboxOf, countsEvents, sources } = frame;
  const readiness = new Readiness();
  const signingKeys = new SigningKeyCache(settings.auth.derived_keys_max);
  const registry = new RegistryStore(store.registry);
  const metrics = createMetrics(sources);
  const records = openRecords(store.state, settings, {
    clock,
    log,
    readiness,
    node,
    shared,
    outboxOf,
    productOf: (deviceId) => registry.peekDevice(deviceId)?.productId ?? null,
    ...(countsEvents && { onEvent: (type) => metrics.event(type) }),
  });
  const onEvent = (type: EventType): void => metrics.event(type);
  const joined = frame.cluster(records, { registry, onEvent, directory: () => directory });
  const cluster =
    joined === null
      ? null
      : { ...joined, peers: new MeasuredPeers(joined.peers, { clock, telemetry: metrics }) };
  const sharers = (): number => frame.sharers(cluster);
  const sleepRecords = frame.claimed(records.sleep, 'sleep');
  const signalRecords = frame.claimed(records.signal, 'signal');
  const directory: DeviceDirectory = new DeviceDirectory({ sleepRecords, signalRecords, node });
  const review = deviceReview({ clock, registry, directory, log });
  const self = shared?.member ?? outboxOf;
  const watch = new WakeupWatch({ clock, records: records.wakeups, telemetry: metrics, self });
  directory.follow(watch);
  const known = { settings, clock, log, node, readiness, signingKeys, registry, records, tokenKeys };
  return {
    ...known,
    sleepRecords,
    signalRecords,
    directory,
    deviceReview: review,
    watch,
    metrics,
    telemetry: metrics,
    memory: new WakeupMemory(records.wakeups, clock, settings.wakeup.replay_max),
    limits: new WakeupLimits(clock, wakeupLimitSettings(settings), sharers),
    sharers,
    messages: new AnswerMemory(clock, messagesKnownMax),
    // Of several processes one keeps all calls; of nodes any may keep a device's next one.
    issued: new IssuedCalls(clock, (issued) => {
      if (outboxOf !== null) cluster?.peers.notify('everybody', issued);
    }),
    connections: new ListenerConnections(settings),
    cluster,
    isDraining: () => readiness.has('draining'),
  };
}
