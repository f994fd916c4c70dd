/**
 * One life of one server: the real context, records, membership and use cases, in the order of `startServer`, with the
 * gateways' connections on simulated sockets. Listeners, signature verification, media and webhook sending are omitted.
 */
import { BridgePool } from '../../src/core/calls/bridge-pool.ts';
import { MediaPlacement } from '../../src/core/calls/media-placement.ts';
import { LocalLegService } from '../../src/core/calls/local-leg-service.ts';
import { ViewerTickets } from '../../src/core/calls/viewers.ts';
import { endCall, type CallEndAnswer } from '../../src/core/calls/end-call.ts';
import { issueCallCredentials } from '../../src/core/calls/issue-call-credentials.ts';
import { disconnectEverybody } from '../../src/core/devices/disconnect-device.ts';
import { HeartbeatSaver } from '../../src/core/devices/heartbeat-saver.ts';
import { queryConnectivity, type ConnectivityAnswer } from '../../src/core/devices/query-connectivity.ts';
import { EventWaiters } from '../../src/core/events/event-waiters.ts';
import { readEvents, scanQueueShape, type EventsAnswer } from '../../src/core/events/read-events.ts';
import { WaitingReaders } from '../../src/core/events/waiting-readers.ts';
import { submitWakeup } from '../../src/core/wakeups/submit-wakeup.ts';
import type { WakeupAnswer } from '../../src/core/wakeups/wakeup-memory.ts';
import type { Cancel } from '../../src/lib/clock.ts';
import { FairQueue } from '../../src/lib/collections/fair-queue.ts';
import type { CallEndOrder, SignedCallOrder } from '../../src/model/call.ts';
import type { EventsStart } from '../../src/model/events.ts';
import type { ApplicationId, DeviceId } from '../../src/model/ids.ts';
import { readersMax, readersPerApplicationMax } from '../../src/model/limits.ts';
import type { WakeupRequest } from '../../src/model/wakeup.ts';
import type { WebhookService, WebhooksDeps } from '../../src/server/bootstrap/webhook-service.ts';
import type { CallService } from '../../src/server/bootstrap/call-service.ts';
import { joinContext, openContext, type ServerContext } from '../../src/server/bootstrap/server-context.ts';
import { issuingSettings } from '../../src/server/config/derived-settings.ts';
import type { Settings } from '../../src/server/config/settings-schema.ts';
import { provisionHere } from '../../src/server/membership/member-answers.ts';
import type { Member, Membership } from '../../src/server/membership/membership.ts';
import { awaitSessions, mayBeBrought } from '../../src/server/site/unclaimed-sessions.ts';
import type { LiveTokenKeys } from '../../src/storage/keys/token-key-file.ts';
import type { Store } from '../../src/storage/lmdb/open-store.ts';
import type { Log } from '../../src/lib/log.ts';
import type { ConnectionKind } from '../../src/model/cluster.ts';
import type { ProvisioningAnswer, ProvisioningRequest } from '../../src/model/provisioning.ts';
import { disconnectEverywhere } from '../../src/cluster/ownership/disconnect-everywhere.ts';
import { DeviceGateway } from './device-gateway.ts';
import { MediaProcesses, mediaUrlOf } from './media.ts';
import { MemberRegistry } from './member-registry.ts';
import type { Host, HostClock } from './timeline.ts';

export interface MemberDeps {
  readonly settings: Settings;
  readonly clock: HostClock;
  readonly host: Host;
  readonly log: Log;
  readonly store: Store;
  readonly membership: Membership;
  readonly tokenKeys: LiveTokenKeys;
  /** `first`: edges without sessions. `later`: edges with the sessions of the previous core. Null: no edges. */
  readonly edges: 'first' | 'later' | null;
  readonly webhooks: Required<Pick<WebhooksDeps, 'openTables' | 'startWorker'>>;
  readonly alter: (context: ServerContext) => void;
}

/** The part of the real call service that needs no media process. */
type Calls = Pick<CallService, 'directory' | 'bridges' | 'keys' | 'service'> & {
  readonly placement: MediaPlacement;
};

export class SimulatedMember {
  readonly deps: MemberDeps;
  readonly context: ServerContext;
  readonly gateway: DeviceGateway;
  readonly calls: Calls;
  readonly media = new MediaProcesses();
  readonly registry: MemberRegistry;
  readonly webhooks: WebhookService;
  readonly #member: Member;
  readonly #stops: Cancel[] = [];
  readonly #readers: WaitingReaders;
  readonly #reading: Parameters<typeof readEvents>[0];
  isUp = false;

  constructor(deps: MemberDeps) {
    const { settings, store, membership, clock, alter } = deps;
    this.deps = deps;
    const open = openContext(settings, store, deps);
    this.#member = membership.join(open);
    this.context = joinContext(open, this.#member);
    alter(this.context);
    this.calls = composeCalls(this.context, this.media);
    this.context.own.calls = this.calls as unknown as CallService;
    this.gateway = new DeviceGateway(this.context, deps.edges !== null);
    this.context.own.deviceListeners = this.gateway.listeners;
    this.webhooks = this.#openWebhooks();
    this.registry = this.#openRegistry(this.calls, store);
    this.context.own.provisioner = this.registry.provisioner;
    const { registry, records, log } = this.context;
    this.#readers = new WaitingReaders(clock, {
      max: readersMax,
      perApplicationMax: readersPerApplicationMax,
    });
    this.#reading = {
      ...this.context,
      events: records.events,
      readers: this.#readers,
      queue: new FairQueue(scanQueueShape),
      waiters: new EventWaiters({ registry, events: records.events, log }),
    };
  }

  /** Resolves when devices and backends are admitted. */
  async start(): Promise<void> {
    const { context } = this;
    const { clock, edges } = this.deps;
    const awaitsSessions = edges === 'later';
    await this.#member.prepare(context, this.registry);
    await this.registry.start();
    await this.webhooks.start();
    await this.#member.open();
    await this.#member.recover(context, awaitsSessions ? mayBeBrought : () => false);
    if (awaitsSessions) this.#stops.push(awaitSessions(context));
    this.#stops.push(context.watch.start());
    this.calls.directory.resume();
    this.calls.bridges.resume();
    this.#stops.push(this.calls.directory.start());
    this.calls.service.registryChanged();
    this.#member.callsResumed();
    this.#stops.push(this.gateway.start(), new HeartbeatSaver(context.directory).start(clock));
    context.readiness.clear('starting');
    this.isUp = true;
  }

  wake(request: WakeupRequest): Promise<WakeupAnswer> {
    return submitWakeup(this.context, request);
  }

  async query(appId: ApplicationId, deviceId: DeviceId): Promise<ConnectivityAnswer> {
    return queryConnectivity(this.context, appId, deviceId);
  }

  read(appId: ApplicationId, start: EventsStart, waitMs: number): Promise<EventsAnswer> {
    return readEvents(this.#reading, { appId, start, limit: 100, waitMs, onGone: () => undefined });
  }

  issue(order: SignedCallOrder): ReturnType<typeof issueCallCredentials> {
    const { context } = this;
    const { directory, bridges, keys } = this.calls;
    const { calls: records } = context.records;
    return issueCallCredentials(
      { ...context, directory, bridges, keys, records, ...issuingSettings(context.settings) },
      order,
    );
  }

  end(order: CallEndOrder): Promise<CallEndAnswer> {
    return endCall(this.context.callEnds, order);
  }

  /** Makes an operator's change of the registry, at a process with a control plane. Rejects when the store refuses. */
  async change<Changed>(act: (registry: MemberRegistry) => Promise<Changed>): Promise<Changed> {
    const changed = await act(this.registry);
    this.registry.changed();
    return changed;
  }

  provision(request: ProvisioningRequest): Promise<ProvisioningAnswer> {
    return provisionHere(this.context, request);
  }

  kick(deviceId: DeviceId): Promise<readonly ConnectionKind[]> {
    return disconnectEverywhere(this.context, deviceId);
  }

  /** Stops in the order of the real server, as after SIGTERM. */
  async stop(): Promise<void> {
    const { context, gateway } = this;
    context.readiness.set('draining');
    this.isUp = false;
    this.#member.draining();
    this.#readers.wakeAll();
    this.calls.service.drain();
    await gateway.drain();
    disconnectEverybody(context, 'drain');
    await this.close();
  }

  async close(): Promise<void> {
    const { context } = this;
    const { membership, store } = this.deps;
    context.deviceReview.stop();
    this.calls.service.close();
    for (const stop of this.#stops.splice(0)) stop();
    new HeartbeatSaver(context.directory).saveAll();
    await this.gateway.close();
    await this.#member.close();
    await this.registry.stop();
    await context.records.close();
    await this.webhooks.stop();
    await membership.hangUp();
    await store.close();
  }

  #openRegistry({ service }: Calls, { registry: tables }: Store): MemberRegistry {
    const reviewCalls = (): void => service.registryChanged();
    const reviewWebhooks = (): void => this.webhooks.registryChanged();
    return new MemberRegistry(this.context, { member: this.#member, tables, reviewCalls, reviewWebhooks });
  }

  #openWebhooks(): WebhookService {
    const { clock, log, telemetry, records } = this.context;
    const onFault = (file: string): void => log.error({ file }, 'a simulated store is damaged');
    const parts = { clock, log, telemetry, onFault, events: records.events };
    return this.#member.webhooks({ ...parts, ...this.deps.webhooks, dataDirectory: '', allowLocal: false });
  }
}

function composeCalls(context: ServerContext, media: MediaProcesses): Calls {
  const { callDirectory: directory, clock, settings, tokenKeys } = context;
  const { keys } = tokenKeys;
  const hasBridgeAt = (process: number): boolean => service.hasBridgeAt(process);
  const placement = new MediaPlacement({ directory, capacity: () => media.capacity(), hasBridgeAt });
  directory.follow(placement);
  const bridges = new BridgePool({ ...context, directory, placement, assign: settings.calls.assign });
  directory.follow(bridges);
  const service: LocalLegService = new LocalLegService({
    ...context,
    keys,
    directory,
    pool: bridges,
    tickets: new ViewerTickets(clock),
    developmentKeys: [],
    maxFps: settings.media.max_fps,
  });
  const mediaProcesses = {
    urlOf: () => mediaUrlOf(context.node),
    capacity: () => media.capacity(),
    connections: [],
  };
  return Object.assign({ directory, bridges, keys, service, placement }, { mediaProcesses });
}
