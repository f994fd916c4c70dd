/** A node among others that share NATS, as its server has it: a server with a store of its own. Source: cluster.md. */
import { randomBytes } from 'node:crypto';
import { followLoggedSessions } from '../../core/wakeups/log-followers.ts';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import { NatsTransport, type NodeTransport } from '../../cluster/nats/node-transport.ts';
import { PendingClaims, ClaimedRecords } from '../../cluster/ownership/pending-claims.ts';
import { countStates, type ConnectionKind, type MemberId, type MemberStatus } from '../../model/cluster.ts';
import { outboxDrainMsMax } from '../../model/limits.ts';
import type { PeerNotice } from '../../model/peer.ts';
import type { CallLocator } from '../../core/ports/call-locator.ts';
import type { ClusterDeps } from '../../core/devices/locate-device.ts';
import { ownerViews } from '../../core/devices/observe-at-owners.ts';
import type { ConnectivityViews } from '../../core/devices/observe-device.ts';
import type { ClusterFigures } from '../../telemetry/gauges.ts';
import type { AdminRoute } from '../../gateways/ops/admin-route.ts';
import type { ConnectionRecords } from '../../core/ports/records.ts';
import type { Peers } from '../../core/ports/peers.ts';
import type { Log } from '../../lib/log.ts';
import { callLocator } from '../../cluster/ownership/call-ownership.ts';
import { clusterRoute, memberJson } from './cluster-json.ts';
import { type OwnLife, AloneMember, type RegistryOwner, type Member, type Membership } from './membership.ts';
import type { OpenContext, ServerContext } from '../bootstrap/server-context.ts';
import { applyRegistryChanges, NodeRegistry } from './node-registry.ts';
import { NodeShares, type NodeSharesDeps, type NodeStore } from './node-shares.ts';
import type { RecordStore } from '../../storage/journal/committer.ts';
import { OutboxRecords } from '../../storage/journal/outbox-records.ts';
import { OutboxStore } from '../../storage/journal/outbox-store.ts';
import type { StateTables } from '../../storage/lmdb/state-tables.ts';
import { nodeWebhooks } from './node-webhooks.ts';
import { memberAnswers } from './member-answers.ts';
import type { Settings } from '../config/settings-schema.ts';
import type { WebhookService, WebhooksDeps } from '../bootstrap/webhook-service.ts';

const dayMs = 24 * 3600 * 1000;

export interface NodeDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly node: string;
}

export class NodeMembership implements Membership {
  readonly watcher: MemberId;
  /** Who brings an event to the log of all counts it. */
  readonly countsEvents = false;
  readonly #link: NodeTransport;
  readonly #claims: PendingClaims;
  readonly #startedAtMs: number;
  /** Null: it is not open yet. */
  #store: NodeStore | null = null;

  constructor(link: NodeTransport, { clock, node }: Pick<NodeDeps, 'clock' | 'node'>) {
    this.#link = link;
    this.#claims = new PendingClaims(clock, () => link.isUnavailable);
    this.#startedAtMs = clock.wallMs();
    this.watcher = `${node}/0@${randomBytes(8).toString('hex')}` as MemberId;
  }

  /** Rejects with a sentence when the URL or the credentials cannot be used; NATS itself may be away. */
  static async open(settings: Settings, url: string, frame: NodeDeps): Promise<NodeMembership> {
    const { cluster, events } = settings;
    const transport = await NatsTransport.open({
      ...frame,
      url,
      credentialsPath: cluster.nats_credentials,
      caPath: cluster.nats_ca,
      prefix: cluster.nats_prefix,
      nodeName: frame.node,
      replicas: cluster.replicas,
      eventsRetainedMax: events.retained_max,
      eventsRetentionMs: events.retention_days * dayMs,
    });
    return new NodeMembership(transport, frame);
  }

  openRecordStore(state: StateTables, _node: string, log: Log): RecordStore {
    this.#store = { state, outbox: new OutboxStore(state, log) };
    return new OutboxRecords(this.#store.outbox, this.watcher);
  }

  claimed(records: ConnectionRecords, connection: ConnectionKind): ConnectionRecords {
    return new ClaimedRecords(records, connection, this.#claims);
  }

  join(open: OpenContext): Member {
    assert(this.#store !== null, 'its store is open');
    const shared = { link: this.#link, claims: this.#claims, store: this.#store };
    return new NodeMember(open, shared, {
      member: this.watcher,
      process: 0,
      startedAtMs: this.#startedAtMs,
    });
  }

  async hangUp(): Promise<void> {
    await this.#link.close();
  }
}

class NodeMember extends AloneMember {
  override readonly peers: Peers;
  override readonly views: ConnectivityViews;
  override readonly cluster: ClusterDeps;
  override readonly callLocator: CallLocator;
  readonly #link: NodeTransport;
  readonly #outbox: OutboxStore;
  readonly #self: MemberId;
  readonly #shares: NodeShares;
  /** Null: it is not sought yet. */
  #registry: NodeRegistry | null = null;

  constructor(open: OpenContext, shared: Pick<NodeSharesDeps, 'link' | 'claims' | 'store'>, life: OwnLife) {
    super(open, life);
    this.#link = shared.link;
    this.#outbox = shared.store.outbox;
    this.#self = life.member;
    this.#shares = new NodeShares({ ...shared, self: life.member, open, status: () => this.status() });
    this.peers = this.#shares.peers;
    this.cluster = this.#shares.cluster;
    this.views = ownerViews(this.peers, this.cluster.locator, open.clock);
    this.callLocator = callLocator(this.#shares.ownership.calls, this.peers);
  }

  override sharers(): number {
    return this.peers.alive().length;
  }

  override routes(_context: ServerContext): readonly AdminRoute[] {
    const read = async () => {
      const [own, ...others] = this.#shares.members.all();
      assert(own !== undefined, 'a member knows itself');
      return [{ ...memberJson(own), pid: process.pid }, ...others.map(memberJson)];
    };
    return [clusterRoute(read, () => this.#shares.members.knowledgeAgeMs)];
  }

  override webhooks(deps: WebhooksDeps): WebhookService {
    return nodeWebhooks(this.#link, this.#shares.members, this.#self, deps);
  }

  /** The members that live are known, and what they have of the registry is here, as far as NATS can be reached. */
  override async prepare(context: ServerContext, controlPlane: RegistryOwner): Promise<void> {
    const { readiness, records, watch, clock, log } = context;
    const { members, log: sharedLog } = this.#shares;
    this.#shares.serve(memberAnswers(context));
    followLoggedSessions(records.events, watch);
    readiness.include(() => this.#missing());
    await members.start();
    sharedLog.start();
    this.#registry = new NodeRegistry({
      clock,
      log,
      link: this.#link,
      tables: controlPlane.tables,
      applied: (changes) => applyRegistryChanges(context, controlPlane, changes),
    });
    await this.#registry.start();
  }

  override async open(): Promise<void> {
    this.#shares.ownership.start();
  }

  override callsResumed(): void {
    void this.#shares.ownership.calls.reconcile();
  }

  override registryWritten(): void {
    this.#registry?.changed();
  }

  /** Any node may keep the device's next call. */
  override callIssued(issued: PeerNotice): void {
    this.peers.notify('everybody', issued);
  }

  override figures(): ClusterFigures {
    const { members } = this.#shares;
    return {
      members: countStates(members.all()),
      knowledgeAgeMs: members.knowledgeAgeMs,
      natsIsThere: !this.#link.isUnavailable,
      outboxLength: this.#outbox.length,
      eventLag: this.#shares.log.lag,
      registryLag: this.#registry?.lag ?? 0,
    };
  }

  override draining(): void {
    this.#shares.members.draining();
  }

  override async close(): Promise<void> {
    await this.known.records.allCommitted();
    await this.#shares.ownership.stop(outboxDrainMsMax);
    await this.#registry?.stop();
    await this.#shares.members.stop();
    await this.#shares.log.stop();
    this.#shares.close();
  }

  protected override status(): MemberStatus {
    return { ...super.status(), outboxLength: this.#outbox.length, eventLag: this.#shares.log.lag };
  }

  /** Without the others a node serves its own devices, and should be sent no callers who ask for others'. */
  #missing(): { readonly isReady: boolean; readonly reasons: readonly string[] } {
    const { twin } = this.#shares.members;
    const reasons = [
      ...(this.#link.isUnavailable ? ['cluster: NATS is away'] : []),
      ...(twin === null ? [] : [`cluster: ${twin} has the same node name`]),
    ];
    return { isReady: reasons.length === 0, reasons };
  }
}
