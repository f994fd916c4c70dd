/**
 * The parts of a node that use NATS, put together: who else lives and how to reach them, whose devices are whose, the
 * log, the registry, calls and webhooks of all. Nothing is sought before `node-membership` says so. Source:
 * cluster.md.
 */
import { CallRepository } from '../../cluster/records/call-repository.ts';
import type { NodeTransport } from '../../cluster/nats/node-transport.ts';
import { NatsMembers } from '../../cluster/membership/nats-members.ts';
import { NatsPeers } from '../../cluster/nats/nats-peers.ts';
import { MeasuredPeers } from '../../cluster/nats/measured-peers.ts';
import { Ownership } from '../../cluster/ownership/ownership.ts';
import type { PendingClaims } from '../../cluster/ownership/pending-claims.ts';
import { SlotReconciler } from '../../cluster/ownership/slot-reconciler.ts';
import { WakeupRepository } from '../../cluster/records/wakeup-repository.ts';
import { assert } from '../../lib/assert.ts';
import type { MemberId, MemberStatus } from '../../model/cluster.ts';
import type { ClusterDeps } from '../../core/devices/locate-device.ts';
import { MemberSearch } from '../../core/devices/member-search.ts';
import type { PeerHost, Peers } from '../../core/ports/peers.ts';
import { NodeLog } from './node-log.ts';
import { MirroredLogStore } from '../../storage/events/mirrored-log.ts';
import type { OutboxStore } from '../../storage/journal/outbox-store.ts';
import type { StateTables } from '../../storage/lmdb/state-tables.ts';
import type { OpenContext } from '../bootstrap/server-context.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { LiveSessions } from '../../cluster/ownership/own-slots.ts';

/** What a node keeps for itself. */
export interface NodeStore {
  readonly state: StateTables;
  readonly outbox: OutboxStore;
}

export interface NodeSharesDeps {
  readonly link: NodeTransport;
  readonly self: MemberId;
  readonly claims: PendingClaims;
  readonly store: NodeStore;
  readonly open: OpenContext;
  /** Of this node, for the others. */
  readonly status: () => MemberStatus;
}

export class NodeShares {
  readonly members: NatsMembers;
  readonly peers: Peers;
  readonly ownership: Ownership;
  readonly log: NodeLog;
  readonly #natsPeers: NatsPeers;
  readonly #search: MemberSearch;
  readonly #wakeups: WakeupRepository;
  /** Null: nobody can ask it yet. */
  #host: PeerHost | null = null;

  constructor(deps: NodeSharesDeps) {
    const { link, self, open, claims, store: own, status } = deps;
    const { clock, log, node, records, registry, directory, telemetry, settings } = open;
    const { events } = records;
    const batch = (write: () => void): Promise<void> => own.state.environment.transaction(write);
    this.members = new NatsMembers({
      link,
      kv: link.bucket('members'),
      clock,
      log,
      self,
      status,
      failOver: (member) => this.ownership.failOver(member),
      reregister: () => void this.ownership.reregister(),
    });
    const host: PeerHost = {
      answer: (question) => this.#hostThere.answer(question),
      heard: (notice, from) => this.#host?.heard(notice, from),
    };
    this.#natsPeers = new NatsPeers({ link, clock, log, self, host, members: this.members });
    this.peers = new MeasuredPeers(this.#natsPeers, { clock, telemetry });
    this.#search = new MemberSearch(clock, this.peers);
    this.#wakeups = new WakeupRepository({ kv: link.bucket('wakeups'), clock, log });
    this.log = new NodeLog({
      link,
      clock,
      log,
      events,
      devicesMax: settings.sleep.max_sessions + settings.signal.max_sessions,
      mirror: new MirroredLogStore(own.state, { events, batch }),
      saw: (event) => this.ownership.noticed(event),
    });
    this.ownership = new Ownership({
      link,
      clock,
      log,
      self,
      outbox: own.outbox,
      node,
      claims,
      random: Math.random,
      rows: link.bucket('rows'),
      heartbeats: link.bucket('heartbeats'),
      sessions: liveSessions(directory),
      follower: new SlotReconciler({ directory, peers: this.peers }),
      productOf: (deviceId) => registry.peekDevice(deviceId)?.productId ?? null,
      publish: async (event) => {
        await this.log.publish(event);
        telemetry.event(event.draft.type);
      },
      putWakeup: (item) => this.#wakeups.put(item),
      calls: {
        members: this.members,
        rows: new CallRepository({ kv: link.bucket('calls'), clock, log }),
        directory: open.callDirectory,
        isEnded: (deviceId, sessionId) => this.log.hasEnded(deviceId, sessionId),
      },
    });
  }

  get cluster(): ClusterDeps {
    return {
      peers: this.peers,
      locator: this.ownership.locator,
      search: this.#search,
      recallWakeup: (name, waitMs) => this.#wakeups.find(name, waitMs),
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
