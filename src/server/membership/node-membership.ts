/** A node among others that share NATS, as its server has it: a whole server with a store of its own. Source: cluster.md. */
import { randomBytes } from 'node:crypto';
import { followLoggedSessions } from '../../core/devices/logged-sessions.ts';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import { NatsLink } from '../../cluster/nats/nats-link.ts';
import type { ConnectionKind, MemberId, MemberStatus } from '../../model/cluster.ts';
import { outboxDrainMsMax } from '../../model/limits.ts';
import type { FetchCall } from '../../core/calls/admit-device-leg.ts';
import { CallHomes } from '../../core/calls/call-homes.ts';
import { SeatKeeper } from '../../cluster/ownership/keep-seats.ts';
import type { ClusterHouse } from '../../core/devices/locate-device.ts';
import type { ClusterFigures } from '../../telemetry/metric-gauges.ts';
import type { ConnectionRecords } from '../../core/ports/connection-records.ts';
import type { Log } from '../../core/ports/log.ts';
import type { PeerHost } from '../../core/ports/peers.ts';
import type { ApiCalls } from '../bootstrap/api.ts';
import type { Back } from '../bootstrap/back.ts';
import type { CallService } from '../bootstrap/call-service.ts';
import { clusterRoute, memberJson } from './cluster-json.ts';
import type { House, HouseParts } from '../bootstrap/house.ts';
import { memberStatus } from './member-status.ts';
import type { Membership, MembershipView, NodeTies, OwnParts } from './membership.ts';
import { applyRegistryChanges } from './node-registry-changes.ts';
import { NodeRegistry } from './node-registry.ts';
import { NodeShares } from './node-shares.ts';
import { nodeWebhooks } from './node-webhooks.ts';
import { processAnswers } from '../supervisor/process-answers.ts';
import type { Records } from '../bootstrap/records.ts';
import type { Settings } from '../config/settings-schema.ts';
import { endOpenSessions } from '../bootstrap/start-up.ts';
import type { WebhookService, WebhooksParts } from '../bootstrap/webhook-service.ts';

const dayMs = 24 * 3600 * 1000;

export interface NodeFrame {
  readonly clock: Clock;
  readonly log: Log;
  readonly node: string;
}

export class NodeMembership implements Membership, NodeTies {
  readonly role = 'alone';
  readonly nodes = this;
  readonly shared = null;
  readonly outboxOf: MemberId;
  readonly #link: NatsLink;
  readonly #frame: NodeFrame;
  readonly #startedAtMs: number;
  #shares: NodeShares | null = null;
  #registry: NodeRegistry | null = null;
  #house: House | null = null;
  #parts: (() => OwnParts) | null = null;
  #host: PeerHost | null = null;
  #seats: SeatKeeper | null = null;
  #homes: CallHomes | null = null;

  private constructor(link: NatsLink, frame: NodeFrame) {
    this.#link = link;
    this.#frame = frame;
    this.#startedAtMs = frame.clock.wallMs();
    this.outboxOf = `${frame.node}/0@${randomBytes(8).toString('hex')}` as MemberId;
  }

  /** Rejects with a sentence when the URL or the credentials cannot be used; NATS itself may be away. */
  static async open(settings: Settings, url: string, frame: NodeFrame): Promise<NodeMembership> {
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

  cluster(records: Records, { directory, registry, onEvent }: HouseParts): ClusterHouse {
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
        seats: () => there(this.#seats),
        homes: () => there(this.#homes),
        status: () => this.#status(),
      },
    });
    return this.#shares.cluster;
  }

  claimed(records: ConnectionRecords, connection: ConnectionKind): ConnectionRecords {
    return there(this.#shares).ownership.records(records, connection);
  }

  view(house: House, parts: () => OwnParts): MembershipView {
    this.#house = house;
    this.#parts = parts;
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
    const { cluster } = there(this.#house);
    assert(cluster !== null, 'a node is one of a cluster');
    const homes = there(this.#homes);
    const { directory, bridges, keys } = calls;
    return {
      directory,
      bridges,
      keys,
      homes: {
        homeOf: (deviceId) => homes.homeOf(deviceId),
        settled: (deviceId) => homes.settled(deviceId),
        issueAt: (member, order, waitMs) =>
          cluster.peers.ask<'issue-call'>(member, { kind: 'issue-call', order }, waitMs),
      },
      keptElsewhere: (deviceId) => homes.sessionsOf(deviceId),
    };
  }

  webhooks(parts: WebhooksParts): WebhookService {
    return nodeWebhooks(this.#link, there(this.#shares).members, this.outboxOf, parts);
  }

  readonly fetchCall: FetchCall = (sessionId, deviceId) => there(this.#homes).fetch(sessionId, deviceId);

  registryWritten(): void {
    this.#registry?.changed();
  }

  /** The members that live are known, and what they have of the registry is here, as far as NATS can be reached. */
  async prepare(house: House, back: Back): Promise<void> {
    const { cluster, directory, readiness, records, watch, telemetry } = house;
    assert(cluster !== null, 'a node is one of a cluster');
    const { peers } = cluster;
    const shares = there(this.#shares);
    const { calls } = back;
    this.#seats = new SeatKeeper({ directory, peers, telemetry });
    const homes = new CallHomes({ ...this.#frame, directory: calls.directory, peers, keepers: shares.calls });
    this.#homes = homes;
    const status = (): MemberStatus => this.#status();
    this.#host = processAnswers(house, { status, calls, takeCalls: (sessionId) => homes.give(sessionId) });
    followLoggedSessions(records.events, watch);
    readiness.include(() => this.#missing());
    await shares.members.start();
    shares.log.start();
    this.#registry = new NodeRegistry({
      ...this.#frame,
      link: this.#link,
      tables: back.tables,
      applied: (changes) => applyRegistryChanges(house, back, changes),
    });
    await this.#registry.start();
  }

  async open(): Promise<void> {
    there(this.#shares).ownership.start();
  }

  /** Of an earlier life; other members may have done so before. */
  endLost(house: House): Promise<void> {
    return endOpenSessions(house);
  }

  figures(): ClusterFigures {
    const members = { up: 0, draining: 0, lost: 0 };
    for (const { state } of this.#shares?.members.all() ?? []) members[state] += 1;
    return {
      members,
      natsIsThere: !this.#link.isAway,
      outboxLength: this.#house?.records.outbox?.length ?? 0,
      eventLag: this.#shares?.log.lag ?? 0,
      registryLag: this.#registry?.lag ?? 0,
    };
  }

  draining(): void {
    this.#shares?.members.draining();
  }

  async close(): Promise<void> {
    const shares = this.#shares;
    if (shares === null || this.#house === null) return;
    await this.#house.records.allCommitted();
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
    const house = there(this.#house);
    const doors = this.#parts?.().doors ?? null;
    const outboxLength = house.records.outbox?.length ?? 0;
    return { ...memberStatus(house, life, doors), outboxLength, eventLag: this.#shares?.log.lag ?? 0 };
  }

  /** Without the others a node serves its own devices, and should be sent no callers who ask for others'. */
  #missing(): { readonly isReady: boolean; readonly reasons: readonly string[] } {
    const twin = this.#shares?.members.twin ?? null;
    const reasons = [
      ...(this.#link.isAway ? ['cluster: NATS is away'] : []),
      ...(twin === null ? [] : [`cluster: ${twin} has the same node name`]),
    ];
    return { isReady: reasons.length === 0, reasons };
  }
}

function there<Part>(part: Part | null): Part {
  assert(part !== null, 'it is asked for in the order of a start');
  return part;
}
