/**
 * What a node has of NATS, put together: who else lives and how to reach them, whose devices are whose, the log, the
 * registry, calls and webhooks of all. Nothing is sought before `node-membership` says so. Source: cluster.md.
 */
import { CallRepository } from '../../cluster/records/call-repository.ts';
import type { KvStore } from '../../cluster/nats/kv-store.ts';
import type { NatsLink } from '../../cluster/nats/nats-link.ts';
import type { BucketName } from '../../cluster/nats/nats-names.ts';
import { NatsMembers } from '../../cluster/membership/nats-members.ts';
import { NatsPeers } from '../../cluster/nats/nats-peers.ts';
import { Ownership } from '../../cluster/ownership/ownership.ts';
import { NatsKvStore } from '../../cluster/nats/nats-kv-store.ts';
import { WakeupRepository } from '../../cluster/records/wakeup-repository.ts';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import type { MemberId, MemberStatus } from '../../model/cluster.ts';
import type { EventType } from '../../model/events.ts';
import type { DeviceId, ProductId } from '../../model/ids.ts';
import type { CallPlacement } from '../../core/calls/call-placement.ts';
import type { ClusterDeps } from '../../core/devices/locate-device.ts';
import type { Log } from '../../core/ports/log.ts';
import type { PeerHost } from '../../core/ports/peers.ts';
import type { SlotFollower } from '../../core/ports/slot-follower.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import { NodeLog } from './node-log.ts';
import { liveSessions, sharedEpochs } from './node-sessions.ts';
import type { Records } from '../bootstrap/records.ts';

export interface NodeSharesDeps {
  readonly link: NatsLink;
  readonly clock: Clock;
  readonly log: Log;
  readonly self: MemberId;
  /** The name of this node, in events. */
  readonly node: string;
  readonly records: Records;
  readonly productOf: (deviceId: DeviceId) => ProductId | null;
  /** An event of this node is in the log of all. */
  readonly onEvent: (type: EventType) => void;
  /** Asked from the start on, not before. */
  readonly late: LateNodeDeps;
}

/** What is there only when the rest of the server is. */
export interface LateNodeDeps {
  directory(): DeviceDirectory;
  host(): PeerHost;
  slots(): SlotFollower;
  placement(): CallPlacement;
  status(): MemberStatus;
}

export class NodeShares {
  readonly members: NatsMembers;
  readonly peers: NatsPeers;
  readonly ownership: Ownership;
  readonly log: NodeLog;
  readonly calls: CallRepository;
  readonly #wakeups: WakeupRepository;

  constructor(deps: NodeSharesDeps) {
    const { link, clock, log, self, late, records } = deps;
    const { outbox, mirror, events } = records;
    assert(outbox !== null && mirror !== null, 'a node has an outbox and a mirror');
    const store = (bucket: BucketName): KvStore => new NatsKvStore(link, bucket, clock);
    this.members = new NatsMembers({
      link,
      kv: store('members'),
      clock,
      log,
      self,
      status: () => late.status(),
      failOver: (member) => this.#failOver(member, late),
      reregister: () => void this.ownership.reregister(),
    });
    const host: PeerHost = {
      answer: (question) => late.host().answer(question),
      heard: (notice, from) => late.host().heard(notice, from),
    };
    this.peers = new NatsPeers({ link, clock, log, self, host, members: this.members });
    this.calls = new CallRepository({ kv: store('calls'), clock, log });
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
      node: deps.node,
      random: Math.random,
      rows: store('rows'),
      heartbeats: store('beats'),
      sessions: liveSessions(() => late.directory()),
      sharedEpochOf: sharedEpochs(() => late.directory()),
      follower: { taken: (slot) => late.slots().taken(slot), lost: (slot) => late.slots().lost(slot) },
      productOf: deps.productOf,
      publish: async (event) => {
        await this.log.publish(event);
        deps.onEvent(event.draft.type);
      },
      putWakeup: ({ appId, requestId, record }) => this.#wakeups.put(appId, requestId, record),
      putCalls: ({ deviceId, sessions }) => late.placement().save(deviceId, sessions),
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

  /** Its sessions end, and its calls wait here for their legs. Rejects while NATS is away; may be called again. */
  async #failOver(member: MemberId, late: LateNodeDeps): Promise<void> {
    await this.ownership.failOver(member);
    await late.placement().takeOver(member);
  }
}
