/** A node among others that share NATS, as its server has it: a whole server with a store of its own. Source: cluster.md. */
import { randomBytes } from 'node:crypto';
import { followLoggedSessions } from '../../core/wakeups/log-followers.ts';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import { NatsLink } from '../../cluster/nats/nats-link.ts';
import type { ConnectionKind, MemberId, MemberStatus } from '../../model/cluster.ts';
import { outboxDrainMsMax } from '../../model/limits.ts';
import type { FetchCall } from '../../core/calls/leg-admission.ts';
import { CallPlacement } from '../../core/calls/call-placement.ts';
import { SlotReconciler } from '../../cluster/ownership/slot-reconciler.ts';
import type { ClusterDeps } from '../../core/devices/locate-device.ts';
import type { ClusterFigures } from '../../telemetry/metric-gauges.ts';
import type { ConnectionRecords } from '../../core/ports/connection-records.ts';
import type { Log } from '../../core/ports/log.ts';
import type { PeerHost } from '../../core/ports/peers.ts';
import type { ApiCalls } from '../bootstrap/api.ts';
import type { ControlPlane } from '../bootstrap/control-plane.ts';
import type { CallService } from '../bootstrap/call-service.ts';
import { clusterRoute, memberJson } from './cluster-json.ts';
import type { ServerContext, PeerDeps } from '../bootstrap/server-context.ts';
import { memberStatus } from './member-status.ts';
import type { Membership, MembershipView, NodeServices, OwnServices } from './membership.ts';
import { applyRegistryChanges } from './node-registry-changes.ts';
import { NodeRegistry } from './node-registry.ts';
import { NodeShares } from './node-shares.ts';
import { nodeWebhooks } from './node-webhooks.ts';
import { processAnswers } from '../supervisor/process-answers.ts';
import type { Records } from '../bootstrap/records.ts';
import type { Settings } from '../config/settings-schema.ts';
import { endOpenSessions } from '../bootstrap/start-up.ts';
import type { WebhookService, WebhooksDeps } from '../bootstrap/webhook-service.ts';

const dayMs = 24 * 3600 * 1000;

export interface NodeDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly node: string;
}

export class NodeMembership implements Membership, NodeServices {
  readonly role = 'alone';
  readonly nodes = this;
  readonly shared = null;
  readonly outboxOf: MemberId;
  readonly #link: NatsLink;
  readonly #frame: NodeDeps;
  readonly #startedAtMs: number;
  #shares: NodeShares | null = null;
  #registry: NodeRegistry | null = null;
  #context: ServerContext | null = null;
  #parts: (() => OwnServices) | null = null;
  #host: PeerHost | null = null;
  #slots: SlotReconciler | null = null;
  #placement: CallPlacement | null = null;

  private constructor(link: NatsLink, frame: NodeDeps) {
    this.#link = link;
    this.#frame = frame;
    this.#startedAtMs = frame.clock.wallMs();
    this.outboxOf = `${frame.node}/0@${randomBytes(8).toString('hex')}` as MemberId;
  }

  /** Rejects with a sentence when the URL or the credentials cannot be used; NATS itself may be away. */
  static async open(settings: Settings, url: string, frame: NodeDeps): Promise<NodeMembership> {
    const { cluster, events } = settings;
    const link = await NatsLink.open({
      clock: frame.clock,
      log: frame.log,
      url,
      credentialsPath: cluster.nats_credentials,
      caPath: cluster.nats_ca,
      prefix: cluster.nats_prefix,
      nodeName: frame.node,
      replicas: cluster.replicas,
      eventsRetainedMax: events.retained_max,
      eventsRetentionMs: events.retention_days * dayMs,
    });
    return new NodeMembership(link, frame);
  }

  cluster(records: Records, { directory, registry, onEvent }: PeerDeps): ClusterDeps {
    this.#shares = new NodeShares({
      ...this.#frame,
      link: this.#link,
      self: this.outboxOf,
      records,
      onEvent,
      productOf: (deviceId) => registry.peekDevice(deviceId)?.productId ?? null,
      late: {
        directory,
        host: () => there(this.#host),
        slots: () => there(this.#slots),
        placement: () => there(this.#placement),
        status: () => this.#status(),
      },
    });
    return this.#shares.cluster;
  }

  claimed(records: ConnectionRecords, connection: ConnectionKind): ConnectionRecords {
    return there(this.#shares).ownership.records(records, connection);
  }

  view(context: ServerContext, deps: () => OwnServices): MembershipView {
    this.#context = context;
    this.#parts = deps;
    const read = async () => {
      const [own, ...others] = there(this.#shares).members.all();
      assert(own !== undefined, 'a member knows itself');
      return [{ ...memberJson(own), pid: process.pid }, ...others.map(memberJson)];
    };
    return { exposition: null, routes: [clusterRoute(read)] };
  }

  callsElsewhere(): null {
    return null;
  }

  callsOf(calls: CallService): ApiCalls {
    const { cluster } = there(this.#context);
    assert(cluster !== null, 'a node is one of a cluster');
    const placement = there(this.#placement);
    const { directory, bridges, keys } = calls;
    return {
      directory,
      bridges,
      keys,
      placement: {
        coordinatorOf: (deviceId) => placement.coordinatorOf(deviceId),
        settled: (deviceId) => placement.settled(deviceId),
        issueAt: (member, order, waitMs) =>
          cluster.peers.ask<'issue-call'>(member, { kind: 'issue-call', order }, waitMs),
      },
      keptElsewhere: (deviceId) => placement.sessionsOf(deviceId),
    };
  }

  webhooks(deps: WebhooksDeps): WebhookService {
    return nodeWebhooks(this.#link, there(this.#shares).members, this.outboxOf, deps);
  }

  readonly fetchCall: FetchCall = (sessionId, deviceId) => there(this.#placement).fetch(sessionId, deviceId);

  registryWritten(): void {
    this.#registry?.changed();
  }

  /** The members that live are known, and what they have of the registry is here, as far as NATS can be reached. */
  async prepare(context: ServerContext, controlPlane: ControlPlane): Promise<void> {
    const { cluster, directory, readiness, records, watch, telemetry } = context;
    assert(cluster !== null, 'a node is one of a cluster');
    const { peers } = cluster;
    const shares = there(this.#shares);
    const { calls } = controlPlane;
    this.#slots = new SlotReconciler({ directory, peers, telemetry });
    const { directory: callDirectory } = calls;
    const placement = new CallPlacement({
      ...this.#frame,
      directory: callDirectory,
      peers,
      placements: shares.calls,
    });
    this.#placement = placement;
    const status = (): MemberStatus => this.#status();
    this.#host = processAnswers(context, {
      status,
      calls,
      takeCalls: (sessionId) => placement.give(sessionId),
    });
    followLoggedSessions(records.events, watch);
    readiness.include(() => this.#missing());
    await shares.members.start();
    shares.log.start();
    this.#registry = new NodeRegistry({
      ...this.#frame,
      link: this.#link,
      tables: controlPlane.tables,
      applied: (changes) => applyRegistryChanges(context, controlPlane, changes),
    });
    await this.#registry.start();
  }

  async open(): Promise<void> {
    there(this.#shares).ownership.start();
  }

  /** Of an earlier life; other members may have done so before. */
  endLost(context: ServerContext): Promise<void> {
    return endOpenSessions(context);
  }

  figures(): ClusterFigures {
    const members = { up: 0, draining: 0, lost: 0 };
    for (const { state } of this.#shares?.members.all() ?? []) members[state] += 1;
    return {
      members,
      natsIsThere: !this.#link.isUnavailable,
      outboxLength: this.#context?.records.outbox?.length ?? 0,
      eventLag: this.#shares?.log.lag ?? 0,
      registryLag: this.#registry?.lag ?? 0,
    };
  }

  draining(): void {
    this.#shares?.members.draining();
  }

  async close(): Promise<void> {
    const shares = this.#shares;
    if (shares === null || this.#context === null) return;
    await this.#context.records.allCommitted();
    await shares.ownership.stop(outboxDrainMsMax);
    await this.#registry?.stop();
    await shares.members.stop();
    await shares.log.stop();
    shares.peers.close();
  }

  async hangUp(): Promise<void> {
    await this.#link.close();
  }

  #status(): MemberStatus {
    const life = { member: this.outboxOf, process: 0, startedAtMs: this.#startedAtMs };
    const context = there(this.#context);
    const deviceListeners = this.#parts?.().deviceListeners ?? null;
    const outboxLength = context.records.outbox?.length ?? 0;
    const eventLag = this.#shares?.log.lag ?? 0;
    return { ...memberStatus(context, life, deviceListeners), outboxLength, eventLag };
  }

  /** Without the others a node serves its own devices, and should be sent no callers who ask for others'. */
  #missing(): { readonly isReady: boolean; readonly reasons: readonly string[] } {
    const twin = this.#shares?.members.twin ?? null;
    const reasons = [
      ...(this.#link.isUnavailable ? ['cluster: NATS is away'] : []),
      ...(twin === null ? [] : [`cluster: ${twin} has the same node name`]),
    ];
    return { isReady: reasons.length === 0, reasons };
  }
}

function there<Part>(part: Part | null): Part {
  assert(part !== null, 'it is asked for in the order of a start');
  return part;
}
