/**
 * Parts shared by the gateways and the control plane: registry, records, devices, and use cases. Built in two phases: `openContext`
 * opens the parts of the store, `joinContext` joins the cluster, if any. Gateways: gateways.ts; the rest: control-plane.ts.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import { hostname } from 'node:os';
import { DeviceDirectory } from '../../core/devices/device-directory.ts';
import { LoginRates } from '../../core/devices/login-rates.ts';
import { UnclaimedSessions } from '../../core/devices/unclaimed-sessions.ts';
import { RefusedLogins } from '../../core/devices/refused-logins.ts';
import { SessionConflicts } from '../../core/devices/session-conflicts.ts';
import { WakeupWatch } from '../../core/wakeups/wakeup-watch.ts';
import { messagesKnownMax } from '../../model/limits.ts';
import { AnswerMemory } from '../../core/messages/answer-memory.ts';
import { CallDirectory } from '../../core/calls/call-directory.ts';
import { deviceReview } from '../../core/devices/disconnect-device.ts';
import { AnsweredEnds, type CallEndDeps } from '../../core/calls/end-call.ts';
import type { CallLocator } from '../../core/ports/call-locator.ts';
import { EndedCalls } from '../../core/calls/ended-calls.ts';
import { CallRejections } from '../../core/calls/reject-call.ts';
import { IssuedCalls } from '../../core/calls/issue-call-credentials.ts';
import type { ClusterDeps } from '../../core/devices/locate-device.ts';
import type { Observe } from '../../core/devices/observe-device.ts';
import type { MessageAnswer } from '../../core/messages/deliver-message.ts';
import { WakeupLimits } from '../../core/devices/request-limits.ts';
import { RequestLog } from '../../core/requests/request-log.ts';
import { AnsweredWakeups } from '../../core/wakeups/answered-wakeups.ts';
import { WakeupMemory } from '../../core/wakeups/wakeup-memory.ts';
import type { ClusterFigures } from '../../telemetry/gauges.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { Readiness } from '../../telemetry/readiness.ts';
import type { ConnectionRecords } from '../../core/ports/records.ts';
import type { Log } from '../../lib/log.ts';
import type { CoreHandle } from '../site/core-task.ts';
import type { Peers } from '../../core/ports/peers.ts';
import type { Store } from '../../storage/lmdb/open-store.ts';
import { RegistryStore } from '../../storage/registry/registry-store.ts';
import { SigningKeyCache } from '../../protocol/tgv1/signature.ts';
import { ListenerConnections } from './listener-connections.ts';
import { deviceSearch } from '../../gateways/admin/device-search.ts';
import { DeviceIndex } from '../../gateways/admin/searched-devices.ts';
import type { LiveTokenKeys } from '../../storage/keys/token-key-file.ts';
import { openRecords } from './records.ts';
import type { RecordStore } from '../../storage/journal/committer.ts';
import type { StateTables } from '../../storage/lmdb/state-tables.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import type { SessionId } from '../../model/ids.ts';
import { soundEncodersOf } from '../../model/media/media-capacity.ts';
import { mediaUrl, wakeupLimitSettings } from '../config/derived-settings.ts';
import type { ConfiguredSettings } from '../config/settings.ts';
import type { Settings } from '../config/settings-schema.ts';
import { metricSources, noPartsYet } from './metric-sources.ts';
import { StoreHealth } from './store-health.ts';

/** The parts of a server before it joins others. */
export type OpenContext = Readonly<ReturnType<typeof openContext>>;

export type ServerContext = Readonly<ReturnType<typeof joinContext>>;

/** The part of a membership that records and context use; the whole is in membership.ts. */
export interface RecordsMembership {
  /** True: it counts the events of a shared log. */
  readonly countsEvents: boolean;
  /** Opens this member's record store. Call once. Throws when the store cannot be read. */
  openRecordStore(state: StateTables, log: Log): RecordStore;
  /** Wraps the records: in a cluster, a login is committed once all members know it. */
  claimed(records: ConnectionRecords, connection: ConnectionKind): ConnectionRecords;
}

export interface ContextMember {
  readonly peers: Peers;
  /** Reads devices that may be connected to other members. */
  readonly observe: Observe;
  readonly cluster: ClusterDeps | null;
  readonly callLocator: CallLocator;
  /** Null: no cluster. */
  figures(): ClusterFigures | null;
}

interface ContextDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly configured?: ConfiguredSettings;
  /** Its supervisor watches the event loop; absent: no supervisor. */
  readonly core?: Pick<CoreHandle, 'progress' | 'holding'>;
  readonly tokenKeys: LiveTokenKeys;
  readonly membership: RecordsMembership;
}

/** Name of this node in events. */
export function nodeName({ cluster }: Pick<Settings, 'cluster'>): string {
  return cluster.node_name ?? hostname();
}

/** Throws when the store cannot be read. */
export function openContext(settings: Settings, store: Store, deps: ContextDeps) {
  const { clock, log, tokenKeys, membership } = deps;
  const none: ConfiguredSettings = { settings, sources: { env: {} }, file: null, origins: new Map() };
  const node = nodeName(settings);
  const readiness = new Readiness();
  const registry = new RegistryStore(store.registry);
  const connections = deps.core?.holding?.connections ?? new ListenerConnections(settings);
  const health = new StoreHealth({ log, readiness });
  for (const { environment } of [store.registry, store.state]) health.watch(environment);
  const own = noPartsYet();
  own.storeHealth = health;
  const metrics = createMetrics(metricSources(own, connections), clock, deps.core?.progress);
  const records = openRecords(store.state, settings, {
    clock,
    log,
    health,
    node,
    store: membership.openRecordStore(store.state, log),
    productOf: (deviceId) => registry.peekDevice(deviceId)?.productId ?? null,
    ...(membership.countsEvents && { onEvent: (type) => metrics.event(type) }),
  });
  const sleepRecords = membership.claimed(records.sleep, 'sleep');
  const signalRecords = membership.claimed(records.signal, 'signal');
  const directory = new DeviceDirectory({ sleepRecords, signalRecords, node });
  const watch = new WakeupWatch({ clock, records: records.wakeups, telemetry: metrics });
  directory.follow(watch);
  const deviceIndex = new DeviceIndex({
    clock,
    registry,
    events: records.events,
    sleepRecords: records.sleep,
    signalRecords: records.signal,
  });
  const requestLog = new RequestLog(settings.log.requests, clock, log);
  const refusedLogins = new RefusedLogins({ clock, log, telemetry: metrics, registry });
  const callDirectory = new CallDirectory({ clock, records: records.calls, telemetry: metrics });
  const endedCalls = new EndedCalls(clock);
  callDirectory.follow(endedCalls);
  return {
    settings,
    configured: deps.configured ?? none,
    clock,
    log,
    node,
    readiness,
    signingKeys: new SigningKeyCache(),
    registry,
    records,
    /** As above, but a login is committed once all members know it. */
    sleepRecords,
    signalRecords,
    deviceIndex,
    deviceSearch: deviceSearch({ clock, registry, directory, index: deviceIndex }),
    directory,
    /** Sessions that edges have not resumed yet at this core. */
    unclaimed: new UnclaimedSessions({ clock, directory }),
    loginRates: new LoginRates(clock, settings.limits.device_logins_per_second),
    conflicts: new SessionConflicts({
      clock,
      log,
      append: (event) => records.appendEvent(event),
      refusedLogins,
    }),
    refusedLogins,
    callDirectory,
    /** Members that have ended. */
    endedCalls,
    /** Begins after every change of the registry. */
    deviceReview: deviceReview({ clock, registry, directory, log }),
    watch,
    /** Exposition of `telemetry`. */
    metrics,
    telemetry: metrics,
    progress: metrics.progress,
    tokenKeys,
    memory: new WakeupMemory(records.wakeups, clock, settings.wakeup.replay_max),
    answeredWakeups: new AnsweredWakeups(clock, log, requestLog),
    requestLog,
    messages: new AnswerMemory<MessageAnswer>(clock, messagesKnownMax),
    /** As above, for messages that wake their device first. */
    wakings: new AnswerMemory<MessageAnswer>(clock, messagesKnownMax),
    connections,
    own,
    /** True while the server drains: no new work begins. */
    isDraining: readiness.isDraining,
    /** True while the store refuses writes: requests that need a commit cannot be answered in time. */
    storeRefuses: () => health.refuses,
    /**
     * `ws://host:port` or `wss://host:port` of the media listener for the call; `sessionId` null: for any call. Null: none is
     * known.
     */
    mediaUrl: (sessionId: SessionId | null): string | null =>
      own.calls?.mediaProcesses.urlOf(sessionId) ?? mediaUrl(settings, null),
    /** Sound formats that the media processes can encode; null: unknown. */
    soundEncoders: () => soundEncodersOf(own.calls?.mediaProcesses.capacity() ?? []),
  };
}

export function joinContext(open: OpenContext, member: ContextMember) {
  const { clock, settings, own, telemetry, callDirectory } = open;
  const { peers, observe, cluster, callLocator } = member;
  own.member = member;
  /** Members that share the rate limits of an application; at least 1. */
  const sharers = (): number => peers.alive().length;
  return {
    ...open,
    peers,
    observe,
    cluster,
    callLocator,
    sharers,
    limits: new WakeupLimits(clock, wakeupLimitSettings(settings), sharers),
    issued: new IssuedCalls(clock, (issued) => peers.notify('everybody', issued)),
    /** Ends calls on behalf of backends and controllers. */
    callEnds: callEnds(open, member),
    rejections: new CallRejections({ directory: callDirectory, callLocator, telemetry }),
  };
}

function callEnds(open: OpenContext, { peers, callLocator }: ContextMember): CallEndDeps {
  const { clock, records, callDirectory: directory, endedCalls: ended } = open;
  const { calls, events } = records;
  const answered = new AnsweredEnds(clock, (answer) => peers.notify('everybody', answer));
  return { ...open, directory, records: calls, events, ended, callLocator, answered };
}
