/**
 * A node as a member of its cluster. Composes the parts that use NATS: membership and peers, ownership of devices, event log, registry,
 * calls and webhooks. Source: cluster.md.
 */
import { CallRepository } from '../../cluster/records/call-repository.ts';
import { NatsMembers } from '../../cluster/membership/nats-members.ts';
import { NatsPeers } from '../../cluster/nats/nats-peers.ts';
import type { NodeTransport } from '../../cluster/nats/node-transport.ts';
import { heartbeatOf, reconcileSlots } from '../../cluster/ownership/answer-peers.ts';
import { callLocator } from '../../cluster/ownership/call-ownership.ts';
import type { LiveSessions } from '../../cluster/ownership/own-slots.ts';
import { Ownership } from '../../cluster/ownership/ownership.ts';
import type { PendingClaims } from '../../cluster/ownership/pending-claims.ts';
import { WakeupRepository } from '../../cluster/records/wakeup-repository.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { ClusterDeps } from '../../core/devices/locate-device.ts';
import { MemberSearch } from '../../core/devices/member-search.ts';
import { observeAtOwners } from '../../core/devices/observe-at-owners.ts';
import type { Observe } from '../../core/devices/observe-device.ts';
import type { CallLocator } from '../../core/ports/call-locator.ts';
import type { PeerHost } from '../../core/ports/peers.ts';
import { followLoggedSessions } from '../../core/wakeups/log-followers.ts';
import type { AdminRoute } from '../../gateways/ops/admin-route.ts';
import { assert } from '../../lib/assert.ts';
import { countStates, type MemberId, type MemberStatus } from '../../model/cluster.ts';
import { outboxDrainMsMax } from '../../model/limits.ts';
import { MirroredLogStore } from '../../storage/events/mirrored-log.ts';
import type { OutboxStore } from '../../storage/journal/outbox-store.ts';
import type { StateTables } from '../../storage/lmdb/state-tables.ts';
import type { ClusterFigures } from '../../telemetry/gauges.ts';
import type { OpenContext, ServerContext } from '../bootstrap/server-context.ts';
import type { WebhookService, WebhooksDeps } from '../bootstrap/webhook-service.ts';
import { clusterRoute, memberJson } from './cluster-json.ts';
import { memberAnswers } from './member-answers.ts';
import { Member, type OwnLife, type RegistryOwner } from './membership.ts';
import { NodeLog } from './node-log.ts';
import { applyRegistryChanges, NodeRegistry } from './node-registry.ts';
import { nodeWebhooks } from './node-webhooks.ts';

/** Local parts of a node. */
export interface NodeStore {
  readonly state: StateTables;
  readonly outbox: OutboxStore;
}

export interface NodeParts {
  readonly link: NodeTransport;
  readonly claims: PendingClaims;
  readonly store: NodeStore;
}

/** Uses NATS only from `prepare` on. */
export class NodeMember extends Member {
  override readonly peers: NatsPeers;
  override readonly observe: Observe;
  override readonly cluster: ClusterDeps;
  override readonly callLocator: CallLocator;
  readonly #parts: NodeParts;
  readonly #self: MemberId;
  readonly #members: NatsMembers;
  readonly #ownership: Ownership;
  readonly #log: NodeLog;
  /** Null: it does not answer other members yet. */
  #host: PeerHost | null = null;
  /** Null: not opened yet. */
  #registry: NodeRegistry | null = null;

  constructor(open: OpenContext, parts: NodeParts, life: OwnLife) {
    super(open, life);
    const { link, store, claims } = parts;
    const { clock, log, node, records, registry, directory, telemetry, settings } = open;
    const { events } = records;
    const self = life.member;
    this.#parts = parts;
    this.#self = self;
    this.#members = new NatsMembers({
      link,
      kv: link.bucket('members'),
      clock,
      log,
      self,
      status: () => this.status(),
      failOver: (member) => this.#ownership.failOver(member),
      reregister: () => void this.#ownership.reregister(),
    });
    const host: PeerHost = {
      answer: (question) => this.#hostThere.answer(question),
      receive: (notice, from) => this.#host?.receive(notice, from),
    };
    this.peers = new NatsPeers({ link, clock, log, telemetry, self, host, members: this.#members });
    const wakeups = new WakeupRepository({ kv: link.bucket('wakeups'), clock, log });
    this.#log = new NodeLog({
      link,
      clock,
      log,
      events,
      devicesMax: settings.sleep.max_sessions + settings.signal.max_sessions,
      mirror: new MirroredLogStore(store.state, {
        events,
        batch: (write) => store.state.environment.transaction(write),
      }),
      saw: (event) => this.#ownership.noticed(event),
    });
    this.#ownership = new Ownership({
      link,
      clock,
      log,
      self,
      outbox: store.outbox,
      node,
      claims,
      random: Math.random,
      rows: link.bucket('rows'),
      heartbeats: link.bucket('heartbeats'),
      sessions: liveSessions(directory),
      follower: reconcileSlots(directory, this.peers),
      productOf: (deviceId) => registry.peekDevice(deviceId)?.productId ?? null,
      publish: async (event) => {
        await this.#log.publish(event);
        telemetry.event(event.draft.type);
      },
      putWakeup: (item) => wakeups.put(item),
      calls: {
        members: this.#members,
        rows: new CallRepository({ kv: link.bucket('calls'), clock, log }),
        directory: open.callDirectory,
        isEnded: (deviceId, sessionId) => this.#log.hasEnded(deviceId, sessionId),
      },
    });
    this.cluster = {
      peers: this.peers,
      locator: this.#ownership.locator,
      search: new MemberSearch(clock, this.peers),
      recallWakeup: (name, waitMs) => wakeups.find(name, waitMs),
      logReaches: (sequence) => this.#log.reaches(sequence),
    };
    this.observe = observeAtOwners(this.peers, this.cluster.locator);
    this.callLocator = callLocator(this.#ownership.calls, this.peers);
  }

  override routes(_context: ServerContext): readonly AdminRoute[] {
    const read = async () => {
      const [own, ...others] = this.#members.all();
      assert(own !== undefined, 'a member knows itself');
      return [{ ...memberJson(own), pid: process.pid }, ...others.map(memberJson)];
    };
    return [clusterRoute(read, () => this.#members.knowledgeAgeMs)];
  }

  override webhooks(deps: WebhooksDeps): WebhookService {
    return nodeWebhooks(this.#parts.link, this.#members, this.#self, deps);
  }

  /** Resolves when the live members are known and the registry is mirrored, as far as NATS is reachable. */
  override async prepare(context: ServerContext, controlPlane: RegistryOwner): Promise<void> {
    const { readiness, records, watch, clock, log } = context;
    this.#host = memberAnswers(context);
    followLoggedSessions(records.events, watch);
    readiness.include(() => this.#missing());
    await this.#members.start();
    this.#log.start();
    this.#registry = new NodeRegistry({
      clock,
      log,
      link: this.#parts.link,
      tables: controlPlane.tables,
      applied: (changes) => applyRegistryChanges(context, controlPlane, changes),
    });
    await this.#registry.start();
  }

  override async open(): Promise<void> {
    this.#ownership.start();
  }

  override callsResumed(): void {
    void this.#ownership.calls.reconcile();
  }

  override registryWritten(): void {
    this.#registry?.changed();
  }

  override figures(): ClusterFigures {
    const { link, store } = this.#parts;
    return {
      members: countStates(this.#members.all()),
      knowledgeAgeMs: this.#members.knowledgeAgeMs,
      natsIsThere: !link.isUnavailable,
      outboxLength: store.outbox.length,
      eventLag: this.#log.lag,
      registryLag: this.#registry?.lag ?? 0,
    };
  }

  override draining(): void {
    this.#members.draining();
  }

  override async close(): Promise<void> {
    await this.known.records.allCommitted();
    await this.#ownership.stop(outboxDrainMsMax);
    await this.#registry?.stop();
    await this.#members.stop();
    await this.#log.stop();
    this.peers.close();
  }

  protected override status(): MemberStatus {
    return { ...super.status(), outboxLength: this.#parts.store.outbox.length, eventLag: this.#log.lag };
  }

  get #hostThere(): PeerHost {
    assert(this.#host !== null, 'no member can ask before it is open');
    return this.#host;
  }

  /** An isolated node serves its own devices, but should receive no requests about others'. */
  #missing(): { readonly isReady: boolean; readonly reasons: readonly string[] } {
    const { twin } = this.#members;
    const reasons = [
      ...(this.#parts.link.isUnavailable ? ['cluster: NATS is away'] : []),
      ...(twin === null ? [] : [`cluster: ${twin} has the same node name`]),
    ];
    return { isReady: reasons.length === 0, reasons };
  }
}

/** Sessions of this node, for their ownership. */
function liveSessions(directory: DeviceDirectory): LiveSessions {
  return { find: (deviceId, connection) => heartbeatOf(directory.find(deviceId), connection) };
}
