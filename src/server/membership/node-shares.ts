/**
 * The parts of a node that use NATS, put together: who else lives and how to reach them, whose devices are whose, the
 * log, the registry, calls and webhooks of all. Nothing is sought before `node-membership` says so. Source:
 * cluster.md.
 */
import { CallRepository } from '../../cluster/records/call-repository.ts';
import { changeRetryMsMax, outboxTakenMax } from '../../cluster/records/row-limits.ts';
import type { NodeTransport } from '../../cluster/nats/node-transport.ts';
import { NatsMembers } from '../../cluster/membership/nats-members.ts';
import { NatsPeers } from '../../cluster/nats/nats-peers.ts';
import { MeasuredPeers } from '../../cluster/ipc/measured-peers.ts';
import { Ownership } from '../../cluster/ownership/ownership.ts';
import type { PendingClaims } from '../../cluster/ownership/pending-claims.ts';
import { SlotReconciler } from '../../cluster/ownership/slot-reconciler.ts';
import { WakeupRepository } from '../../cluster/records/wakeup-repository.ts';
import { assert } from '../../lib/assert.ts';
import type { MemberId, MemberStatus } from '../../model/cluster.ts';
import { claimMsMax } from '../../model/limits.ts';
import { CallPlacement } from '../../core/calls/call-placement.ts';
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
import type { Cancel } from '../../lib/clock.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import type { Outbox, OutboxEvent } from '../../core/ports/outbox.ts';

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
  readonly placement: CallPlacement;
  readonly #natsPeers: NatsPeers;
  readonly #search: MemberSearch;
  readonly #wakeups: WakeupRepository;
  readonly #deps: Pick<NodeSharesDeps, 'link' | 'open' | 'store'>;
  readonly #unfollow: Cancel;
  #cancelReconciling: Cancel = () => undefined;
  #isClosed = false;
  /** Null: nobody can ask it yet. */
  #host: PeerHost | null = null;

  constructor(deps: NodeSharesDeps) {
    const { link, self, open, claims, store: own, status } = deps;
    const { clock, log, node, records, registry, directory, telemetry, settings } = open;
    const { events } = records;
    this.#deps = deps;
    const batch = (write: () => void): Promise<void> => own.state.environment.transaction(write);
    this.members = new NatsMembers({
      link,
      kv: link.bucket('members'),
      clock,
      log,
      self,
      status,
      failOver: (member) => this.#failOver(member),
      reregister: () => {
        void this.ownership.reregister();
        this.reconcileCalls();
      },
    });
    const host: PeerHost = {
      answer: (question) => this.#hostThere.answer(question),
      heard: (notice, from) => this.#host?.heard(notice, from),
    };
    this.#natsPeers = new NatsPeers({ link, clock, log, self, host, members: this.members });
    this.peers = new MeasuredPeers(this.#natsPeers, { clock, telemetry });
    this.#search = new MemberSearch(clock, this.peers);
    const placements = new CallRepository({ kv: link.bucket('calls'), clock, log });
    this.placement = new CallPlacement({
      clock,
      log,
      directory: open.callDirectory,
      peers: this.peers,
      placements,
      isEnded: (deviceId, sessionId) => this.log.hasEnded(deviceId, sessionId),
    });
    this.#unfollow = link.onChange((isUnavailable) => {
      if (!isUnavailable) this.reconcileCalls();
    });
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
      heartbeats: link.bucket('beats'),
      sessions: liveSessions(directory),
      follower: new SlotReconciler({ directory, peers: this.peers, telemetry }),
      productOf: (deviceId) => registry.peekDevice(deviceId)?.productId ?? null,
      publish: async (event) => {
        await this.log.publish(event);
        telemetry.event(event.draft.type);
      },
      putWakeup: (item) => this.#wakeups.put(item),
      putCalls: async ({ deviceId, sessions, event }) => {
        const isOurs = await this.placement.save(deviceId, sessions, endedCallOf(event));
        return isOurs && !(event !== null && (await this.#isOverElsewhere(event)));
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

  /** From now on `host` answers the others. Throws when the store cannot be read. */
  serve(host: PeerHost): void {
    this.#resumeCalls();
    this.#host = host;
  }

  /** Calls of an earlier life are shared, unless the outbox has a change of them; so may be those that it has left to others. */
  #resumeCalls(): void {
    const { open, store } = this.#deps;
    const unshared = devicesOfCalls(store.outbox);
    for (const { deviceId, sessions } of open.records.calls.all())
      if (!unshared.delete(deviceId)) this.placement.resume(deviceId, sessions);
    for (const deviceId of unshared) this.placement.resumeWithout(deviceId);
  }

  /** The calls that are here, against what all share, until that is done; while NATS is away, once it is back. */
  reconcileCalls(): void {
    const { link, open } = this.#deps;
    this.#cancelReconciling();
    void this.placement.reconcile().then((isDone) => {
      if (isDone || this.#isClosed || link.isUnavailable) return;
      this.#cancelReconciling();
      this.#cancelReconciling = open.clock.after(changeRetryMsMax, () => this.reconcileCalls());
    });
  }

  /** Nobody can ask it any more. */
  close(): void {
    this.#isClosed = true;
    this.#unfollow();
    this.#cancelReconciling();
    this.placement.close();
    this.#natsPeers.close();
  }

  /** It was kept here out of the others' sight, and has ended there. Rejects while the log here is behind. */
  async #isOverElsewhere({ draft }: OutboxEvent): Promise<boolean> {
    const isLate = this.#deps.open.clock.wallMs() - draft.atMs > claimMsMax;
    if (!isLate || !draft.type.startsWith('call.') || !('session' in draft.data)) return false;
    return this.log.hasEnded(draft.deviceId, draft.data.session);
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

/** Whose calls have changed, and wait to be shared. */
function devicesOfCalls(outbox: Outbox): Set<DeviceId> {
  const devices = new Set<DeviceId>();
  let waiting = outbox.read(0, outboxTakenMax);
  while (waiting.length > 0) {
    for (const { item } of waiting) if (item.kind === 'calls') devices.add(item.deviceId);
    waiting = outbox.read(waiting.at(-1)?.place ?? Infinity, outboxTakenMax);
  }
  return devices;
}

/** The call that the event ends; null: none. */
function endedCallOf(event: OutboxEvent | null): SessionId | null {
  return event !== null && event.draft.type === 'call.ended' ? event.draft.data.session : null;
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
