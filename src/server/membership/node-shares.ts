/**
 * The parts of a node that use NATS, put together: who else lives and how to reach them, whose devices are whose, the
 * log, the registry, calls and webhooks of all. Nothing is sought before `node-membership` says so. Source:
 * cluster.md.
 */
import { CallRepository } from '../../cluster/records/call-repository.ts';
import type { KvStore } from '../../cluster/nats/kv-store.ts';
import type { NatsLink } from '../../cluster/nats/nats-link.ts';
import type { BucketName } from '../../cluster/nats/nats-names.ts';
import { NatsMembers } from '../../cluster/membership/nats-members.ts';
import { NatsPeers } from '../../cluster/nats/nats-peers.ts';
import { MeasuredPeers } from '../../cluster/ipc/measured-peers.ts';
import { Ownership } from '../../cluster/ownership/ownership.ts';
import type { PendingClaims } from '../../cluster/ownership/pending-claims.ts';
import { SlotReconciler } from '../../cluster/ownership/slot-reconciler.ts';
import { NatsKvStore } from '../../cluster/nats/nats-kv-store.ts';
import { WakeupRepository } from '../../cluster/records/wakeup-repository.ts';
import { assert } from '../../lib/assert.ts';
import type { MemberId, MemberStatus } from '../../model/cluster.ts';
import { CallPlacement } from '../../core/calls/call-placement.ts';
import type { ClusterDeps } from '../../core/devices/locate-device.ts';
import type { PeerHost, Peers } from '../../core/ports/peers.ts';
import { NodeLog } from './node-log.ts';
import type { OpenContext } from '../bootstrap/server-context.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { LiveSessions } from '../../cluster/ownership/own-slots.ts';
import type { SharedEpochOf } from '../../cluster/events/outbox-changes.ts';

export interface NodeSharesDeps {
  readonly link: NatsLink;
  readonly self: MemberId;
  readonly claims: PendingClaims;
  readonly open: OpenContext;
  /** Of this node, for the others. */
  readonly status: () => MemberStatus;
}

export class NodeShares {
  readonly members: NatsMembers;
  readonly peers: Peers;
  readonly ownership: Ownership;
  readonly log: NodeLog;
  readonly placement: CallPlacement;
  readonly #natsPeers: NatsPeers;
  readonly #wakeups: WakeupRepository;
  /** Null: nobody can ask it yet. */
  #host: PeerHost | null = null;

  constructor(deps: NodeSharesDeps) {
    const { link, self, open, claims, status } = deps;
    const { clock, log, node, records, registry, directory, telemetry } = open;
    const { outbox, mirror, events } = records;
    assert(outbox !== null && mirror !== null, 'a node has an outbox and a mirror');
    const store = (bucket: BucketName): KvStore => new NatsKvStore(link, bucket, clock);
    this.members = new NatsMembers({
      link,
      kv: store('members'),
      clock,
      log,
      self,
      status,
      failOver: (member) => this.#failOver(member),
      reregister: () => void this.ownership.reregister(),
    });
    const host: PeerHost = {
      answer: (question) => this.#hostThere.answer(question),
      heard: (notice, from) => this.#host?.heard(notice, from),
    };
    this.#natsPeers = new NatsPeers({ link, clock, log, self, host, members: this.members });
    this.peers = new MeasuredPeers(this.#natsPeers, { clock, telemetry });
    const placements = new CallRepository({ kv: store('calls'), clock, log });
    this.placement = new CallPlacement({
      log,
      directory: open.callDirectory,
      peers: this.peers,
      placements,
    });
    this.#wakeups = new WakeupRepository({ kv: store('wakeups'), clock, log });
    this.log = new NodeLog({
      link,
      clock,
      log,
      events,
      mirror,
      saw: (event) => this.ownership.noticed(event),
    });
    this.ownership = new Ownership({
      link,
      clock,
      log,
      self,
      outbox,
      node,
      claims,
      random: Math.random,
      rows: store('rows'),
      heartbeats: store('beats'),
      sessions: liveSessions(directory),
      sharedEpochOf: sharedEpochs(directory),
      follower: new SlotReconciler({ directory, peers: this.peers, telemetry }),
      productOf: (deviceId) => registry.peekDevice(deviceId)?.productId ?? null,
      publish: async (event) => {
        await this.log.publish(event);
        telemetry.event(event.draft.type);
      },
      putWakeup: ({ appId, requestId, record }) => this.#wakeups.put(appId, requestId, record),
      putCalls: ({ deviceId, sessions }) => this.placement.save(deviceId, sessions),
    });
  }

  get cluster(): ClusterDeps {
    return {
      peers: this.peers,
      locator: this.ownership.locator,
      recallWakeup: (appId, requestId, waitMs) => this.#wakeups.find(appId, requestId, waitMs),
      logReaches: (sequence) => this.log.reaches(sequence),
    };
  }

  /** From now on `host` answers the others. */
  serve(host: PeerHost): void {
    this.#host = host;
  }

  /** Nobody can ask it any more. */
  close(): void {
    this.#natsPeers.close();
  }

  get #hostThere(): PeerHost {
    assert(this.#host !== null, 'nobody can ask before it is open');
    return this.#host;
  }

  /** Its sessions end, and its calls wait here for their legs. Rejects while NATS is away; may be called again. */
  async #failOver(member: MemberId): Promise<void> {
    await this.ownership.failOver(member);
    await this.placement.takeOver(member);
  }
}

/** The sessions of this node, as their ownership asks for them. */
function liveSessions(directory: DeviceDirectory): LiveSessions {
  return {
    find(deviceId, connection) {
      const actor = directory.find(deviceId);
      if (actor === null) return null;
      const session = actor.session(connection);
      const heartbeatAt = actor.heartbeatAt(connection);
      return session === null ? null : { session, heartbeatAt };
    },
  };
}

/** What was noted of a session before all knew it is told by the epoch that all know. */
function sharedEpochs(directory: DeviceDirectory): SharedEpochOf {
  return (deviceId, localEpoch) => {
    const actor = directory.find(deviceId);
    return actor?.epoch('sleep') === localEpoch ? actor.toldEpoch('sleep') : localEpoch;
  };
}
