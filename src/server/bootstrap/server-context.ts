/**
 * The parts that every server process has, whatever its role: the registry, the records, the devices that are here,
 * who is told of them, and what requests of theirs have in common. It is made in two phases: `openContext` opens what
 * this process has for itself, `joinContext` makes it one of those that are one server. The gateways are in
 * gateways.ts, what there is one of in control-plane.ts.
 */
import { hostname } from 'node:os';
import type { Clock } from '../../lib/clock.ts';
import type { DeviceActor } from '../../core/devices/device-actor.ts';
import { DeviceDirectory } from '../../core/devices/device-directory.ts';
import { WakeupWatch } from '../../core/wakeups/wakeup-watch.ts';
import { messagesKnownMax } from '../../model/limits.ts';
import { AnswerMemory } from '../../core/messages/answer-memory.ts';
import { CallDirectory } from '../../core/calls/call-directory.ts';
import { deviceReview } from '../../core/devices/disconnect-device.ts';
import { IssuedCalls } from '../../core/calls/issue-call-credentials.ts';
import type { ClusterDeps } from '../../core/devices/locate-device.ts';
import type { MessageAnswer } from '../../core/messages/deliver-message.ts';
import type { RegistryReview } from '../../core/devices/registry-review.ts';
import { WakeupLimits } from '../../core/devices/request-limits.ts';
import { WakeupMemory } from '../../core/wakeups/wakeup-memory.ts';
import { createMetrics, type Exposition } from '../../telemetry/metrics.ts';
import { Readiness } from '../../telemetry/readiness.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { ConnectionRecords } from '../../core/ports/connection-records.ts';
import type { Log } from '../../core/ports/log.ts';
import type { Store } from '../../storage/lmdb/open-store.ts';
import { RegistryStore } from '../../storage/registry/registry-store.ts';
import { SigningKeyCache } from '../../protocol/tgv1/signature.ts';
import { ListenerConnections } from './listener-connections.ts';
import type { LiveTokenKeys } from '../../storage/keys/live-token-keys.ts';
import { openRecords, type Records, type SharedStoreDeps } from './records.ts';
import type { ConnectionKind, MemberId } from '../../model/cluster.ts';
import type { PeerNotice } from '../../model/peer.ts';
import type { ClusterFigures } from '../../telemetry/metric-gauges.ts';
import { metricSources, type CountedParts } from './metric-sources.ts';
import { hasControlPlane, type ServerRole } from '../supervisor/roles.ts';
import { wakeupLimitSettings } from '../config/gateway-settings.ts';
import type { Settings } from '../config/settings-schema.ts';

/** What a process has before it knows of any other. */
export interface OpenContext {
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
  /** The calls that are kept here: none where another process keeps them all. */
  readonly callDirectory: CallDirectory;
  /** To be begun after every change of the registry. */
  readonly deviceReview: RegistryReview<DeviceActor>;
  readonly watch: WakeupWatch;
  /** What `telemetry` has counted. */
  readonly metrics: Exposition;
  readonly telemetry: Telemetry;
  readonly tokenKeys: LiveTokenKeys;
  readonly memory: WakeupMemory;
  readonly messages: AnswerMemory<MessageAnswer>;
  readonly connections: ListenerConnections;
  readonly own: CountedParts;
  /** True while it is being stopped: nothing new is begun. */
  isDraining(): boolean;
}

export interface ServerContext extends OpenContext {
  /** Null: alone. */
  readonly cluster: ClusterDeps | null;
  /** Members that share what an application may do; at least 1. */
  readonly sharers: () => number;
  readonly limits: WakeupLimits;
  readonly issued: IssuedCalls;
}

/** What records and the context need of a membership; all of it is in membership.ts. */
export interface RecordsMembership {
  readonly role: ServerRole;
  /** Null: this process writes its store alone. */
  readonly shared: SharedStoreDeps | null;
  /** Whose outbox commits go to; null: nobody's. */
  readonly outboxOf: MemberId | null;
  /** The records as others have to know them: where there are others, logins are committed when all know them. */
  claimed(records: ConnectionRecords, connection: ConnectionKind): ConnectionRecords;
}

export interface ContextMember {
  /** Null: alone. */
  readonly cluster: ClusterDeps | null;
  /** Members that share what an application may do; at least 1. */
  sharers(): number;
  /** This process has answered an issuance, which may be repeated elsewhere. Must not throw. */
  callIssued(issued: PeerNotice): void;
  /** Null: there are no nodes. */
  figures(): ClusterFigures | null;
}

interface ContextDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly tokenKeys: LiveTokenKeys;
  readonly membership: RecordsMembership;
}

/** The name of this node, in events. */
export function nodeName({ cluster }: Pick<Settings, 'cluster'>): string {
  return cluster.node_name ?? hostname();
}

/** Throws when the store cannot be read. */
export function openContext(settings: Settings, store: Store, deps: ContextDeps): OpenContext {
  const { clock, log, tokenKeys, membership } = deps;
  const { shared, outboxOf } = membership;
  const node = nodeName(settings);
  const readiness = new Readiness();
  const registry = new RegistryStore(store.registry);
  const connections = new ListenerConnections(settings);
  const own: CountedParts = { deviceListeners: null, calls: null, member: null };
  const metrics = createMetrics(metricSources(own, connections));
  // All see every event of a log that they have in common: one of them counts it.
  const countsEvents = hasControlPlane(membership.role) && outboxOf === null;
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
  const sleepRecords = membership.claimed(records.sleep, 'sleep');
  const signalRecords = membership.claimed(records.signal, 'signal');
  const directory = new DeviceDirectory({ sleepRecords, signalRecords, node });
  const self = shared?.member ?? outboxOf;
  const watch = new WakeupWatch({ clock, records: records.wakeups, telemetry: metrics, self });
  directory.follow(watch);
  return {
    settings,
    clock,
    log,
    node,
    readiness,
    signingKeys: new SigningKeyCache(settings.auth.derived_keys_max),
    registry,
    records,
    sleepRecords,
    signalRecords,
    directory,
    callDirectory: new CallDirectory({ clock, records: records.calls, telemetry: metrics }),
    deviceReview: deviceReview({ clock, registry, directory, log }),
    watch,
    metrics,
    telemetry: metrics,
    tokenKeys,
    memory: new WakeupMemory(records.wakeups, clock, settings.wakeup.replay_max),
    messages: new AnswerMemory(clock, messagesKnownMax),
    connections,
    own,
    isDraining: () => readiness.has('draining'),
  };
}

export function joinContext(open: OpenContext, member: ContextMember): ServerContext {
  const { clock, settings, own } = open;
  own.member = member;
  const sharers = (): number => member.sharers();
  return {
    ...open,
    cluster: member.cluster,
    sharers,
    limits: new WakeupLimits(clock, wakeupLimitSettings(settings), sharers),
    issued: new IssuedCalls(clock, (issued) => member.callIssued(issued)),
  };
}
