/**
 * What a node has of NATS, put together: who else lives and how to reach them, whose devices are whose, the log, the
 * registry, calls and webhooks of all. Nothing is sought before `node-membership` says so. Source: cluster.md.
 */
import { CallVault } from '../../cluster/records/call-vault.ts';
import { NatsBucket } from '../../cluster/nats/nats-bucket.ts';
import type { NatsLink } from '../../cluster/nats/nats-link.ts';
import { NatsMembers } from '../../cluster/membership/nats-members.ts';
import { NatsPeers } from '../../cluster/nats/nats-peers.ts';
import { Ownership } from '../../cluster/ownership/ownership.ts';
import { NatsShelf } from '../../cluster/nats/shelf.ts';
import { WakeupVault } from '../../cluster/records/wakeup-vault.ts';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import type { MemberId, MemberStatus } from '../../model/cluster.ts';
import type { EventType } from '../../model/events.ts';
import type { DeviceId, ProductId } from '../../model/ids.ts';
import type { CallHomes } from '../../core/calls/call-homes.ts';
import type { ClusterHouse } from '../../core/devices/locate-device.ts';
import type { Log } from '../../core/ports/log.ts';
import type { PeerHost } from '../../core/ports/peers.ts';
import type { SeatFollower } from '../../core/ports/seat-follower.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import { NodeLog } from './node-log.ts';
import { liveSessions, sharedEpochs } from './node-sessions.ts';
import type { Records } from '../bootstrap/records.ts';

export interface NodeSharesParts {
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
  readonly late: LateParts;
}

/** What is there only when the rest of the server is. */
export interface LateParts {
  directory(): DeviceDirectory;
  host(): PeerHost;
  seats(): SeatFollower;
  homes(): CallHomes;
  status(): MemberStatus;
}

export class NodeShares {
  readonly members: NatsMembers;
  readonly peers: NatsPeers;
  readonly ownership: Ownership;
  readonly log: NodeLog;
  readonly calls: CallVault;
  readonly #wakeups: WakeupVault;

  constructor(parts: NodeSharesParts) {
    const { link, clock, log, self, late, records } = parts;
    const { outbox, mirror, events } = records;
    assert(outbox !== null && mirror !== null, 'a node has an outbox and a mirror');
    this.members = new NatsMembers({
      link,
      clock,
      log,
      self,
      status: () => late.status(),
      bury: (member) => this.#bury(member, late),
      reclaim: () => void this.ownership.reclaim(),
    });
    const host: PeerHost = {
      answer: (question) => late.host().answer(question),
      heard: (notice, from) => late.host().heard(notice, from),
    };
    this.peers = new NatsPeers({ link, clock, log, self, host, members: this.members });
    this.calls = new CallVault({ shelf: new NatsShelf(link, 'calls'), clock, log });
    this.#wakeups = new WakeupVault({ shelf: new NatsShelf(link, 'wakeups'), clock, log });
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
      node: parts.node,
      random: Math.random,
      rows: new NatsBucket(link, 'rows', clock),
      beats: new NatsBucket(link, 'beats', clock),
      sessions: liveSessions(() => late.directory()),
      sharedEpochOf: sharedEpochs(() => late.directory()),
      follower: { taken: (seat) => late.seats().taken(seat), lost: (seat) => late.seats().lost(seat) },
      productOf: parts.productOf,
      publish: async (event) => {
        await this.log.publish(event);
        parts.onEvent(event.draft.type);
      },
      putWakeup: ({ appId, requestId, record }) => this.#wakeups.put(appId, requestId, record),
      putCalls: ({ deviceId, sessions }) => late.homes().save(deviceId, sessions),
    });
  }

  get cluster(): ClusterHouse {
    return {
      peers: this.peers,
      whereabouts: this.ownership.whereabouts,
      recallWakeup: (appId, requestId, waitMs) => this.#wakeups.find(appId, requestId, waitMs),
      logReaches: (sequence) => this.log.reaches(sequence),
    };
  }

  /** Its sessions end, and its calls wait here for their legs. Rejects while NATS is away; may be called again. */
  async #bury(member: MemberId, late: LateParts): Promise<void> {
    await this.ownership.bury(member);
    await late.homes().takeOver(member);
  }
}
