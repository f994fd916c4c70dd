/**
 * Which node has a device's calls: the one that issued the first of them, while it lives and does not drain. A call stays
 * there and ends with it. The row of a node that is gone is claimed by compare-and-set, by the node that fails it over or
 * by one that is asked for credentials; the calls in it end as `lost`, each with an event whose id is in the row until it
 * is published, so that it is published once. Source: cluster.md, Media.
 */
import { isInCall } from '../../model/call.ts';
import {
  nodeOf,
  type DeviceCalls,
  type LostCall,
  type MemberId,
  type SharedCall,
} from '../../model/cluster.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import { callClaimsMax, callNodeMsMax, claimMsMax, lostCallsMax } from '../../model/limits.ts';
import { callEvent } from '../../model/state/call-session.ts';
import type { CallDirectory } from '../../core/calls/call-directory.ts';
import type { CallCoordinator, CallLocator } from '../../core/ports/call-locator.ts';
import { othersAlive, type Peers } from '../../core/ports/peers.ts';
import type { CallsItem } from '../../core/ports/outbox.ts';
import { eachBounded } from '../nats/each-bounded.ts';
import type { KeyedQueue } from '../nats/keyed-queue.ts';
import type { CallRepository, FoundCalls } from '../records/call-repository.ts';
import { lookedAtOnceMax } from '../records/row-limits.ts';
import type { PublishingDeps } from '../events/made-events.ts';

export interface CallOwnershipDeps extends PublishingDeps {
  readonly self: MemberId;
  readonly members: { isAlive(member: MemberId): boolean; isDraining(member: MemberId): boolean };
  readonly rows: Pick<CallRepository, 'find' | 'put' | 'all'>;
  readonly directory: Pick<CallDirectory, 'sessions' | 'sessionsOf' | 'end'>;
  /** The one of this node's other changes of devices. */
  readonly queue: Pick<KeyedQueue, 'perform'>;
  /** The log of all says so. Rejects while the log here is behind, or cannot be read. */
  readonly isEnded: (deviceId: DeviceId, sessionId: SessionId) => Promise<boolean>;
}

export class CallOwnership {
  readonly #deps: CallOwnershipDeps;

  constructor(deps: CallOwnershipDeps) {
    this.#deps = deps;
  }

  /** The node that is to issue the device's next call; `here`: its row is this node's. Never rejects. */
  issuerOf(deviceId: DeviceId): CallCoordinator | Promise<CallCoordinator> {
    return this.#hasCalls(deviceId) ? 'here' : this.#claim(deviceId);
  }

  /** The node to ask about a call of the device; `unavailable`: also one that is gone, whose calls end now. Never rejects. */
  async locate(deviceId: DeviceId): Promise<CallCoordinator> {
    if (this.#hasCalls(deviceId)) return 'here';
    const { rows, members, log } = this.#deps;
    try {
      const found = await rows.find(deviceId);
      if (found === null || this.#isOwn(found)) return 'here';
      if (members.isAlive(found.node)) return found.node;
      if (found.calls.length === 0) return 'here';
      void this.#claim(deviceId);
    } catch (error) {
      log.warn({ err: error }, unknownNode);
    }
    return 'unavailable';
  }

  /** A device that has no call here is in a call at another node, as that has shared it. Rejects with SharedStateUnavailable. */
  async isInCallElsewhere(deviceId: DeviceId): Promise<boolean> {
    const { rows, members } = this.#deps;
    const found = await rows.find(deviceId);
    if (found === null || this.#isOwn(found) || !members.isAlive(found.node)) return false;
    return found.calls.some(({ state }) => isInCall(state));
  }

  /**
   * Shares the calls of an item of the outbox. Where the row is another node's by now, the device's calls here end. False: the
   * item's event is not to be published, because the call has ended in the log. Rejects with SharedStateUnavailable.
   */
  async share({ deviceId, calls, event }: CallsItem): Promise<boolean> {
    const found = await this.#write(deviceId, calls);
    if (found !== null) this.#endHere(deviceId);
    if (event === null || !('session' in event.draft.data)) return true;
    const { session } = event.draft.data;
    if (found?.lost.some(({ sessionId }) => sessionId === session) === true) return false;
    // A node that was out of the others' sight may have lost the row, and have claimed it again since.
    const isLate = this.#deps.clock.wallMs() - event.draft.atMs > claimMsMax;
    return (found === null && !isLate) || !(await this.#deps.isEnded(deviceId, session));
  }

  /** After a start, and when this node was called lost: calls whose rows are another node's end here. Never rejects. */
  async reconcile(): Promise<void> {
    const { directory, queue } = this.#deps;
    const devices = new Set(Array.from(directory.sessions(), ({ deviceId }) => deviceId));
    await eachBounded(devices, lookedAtOnceMax, (deviceId) =>
      queue.perform(deviceId, async () => {
        const found = await this.#write(deviceId, null);
        if (found !== null) this.#endHere(deviceId);
      }),
    );
  }

  /** Ends the calls of a lost node. Rejects with SharedStateUnavailable; may be called again. */
  async failOver(node: MemberId): Promise<void> {
    await eachBounded(this.#deps.rows.all(), lookedAtOnceMax, async ({ deviceId, calls }) => {
      if (calls.node === node && calls.calls.length + calls.lost.length > 0)
        await this.#deps.queue.perform(deviceId, () => this.#endLost(deviceId, node));
    });
  }

  /** The row becomes this node's, unless it is that of another one which lives. */
  async #claim(deviceId: DeviceId): Promise<CallCoordinator> {
    const { rows, log, queue } = this.#deps;
    try {
      for (let attempt = 0; attempt < callClaimsMax; attempt++) {
        const found = await rows.find(deviceId);
        if (found !== null && this.#isTheirs(found)) return found.node;
        const claimed = this.#claimed(found);
        const isPut =
          found?.node === claimed.node || (await rows.put(deviceId, claimed, found?.revision ?? null));
        if (!isPut) continue;
        if (claimed.lost.length > 0) void queue.perform(deviceId, () => this.#publishLost(deviceId));
        return 'here';
      }
    } catch (error) {
      log.warn({ err: error }, unknownNode);
    }
    return 'unavailable';
  }

  /** Calls of this node's earlier life are taken up from its store; those of another node are lost. */
  #claimed(found: FoundCalls | null): DeviceCalls {
    const { self, events, clock } = this.#deps;
    if (found === null) return { node: self, calls: [], lost: [] };
    if (this.#isOwn(found)) return { node: self, calls: found.calls, lost: found.lost };
    const atMs = clock.wallMs();
    const ended = found.calls.map(({ sessionId }): LostCall => ({ sessionId, id: events.id(), atMs }));
    return { node: self, calls: [], lost: [...found.lost, ...ended].slice(-lostCallsMax) };
  }

  /**
   * Writes the device's calls into its row; `calls` null: leaves those of a row that is there. Not null: the row as it is, of
   * another node.
   */
  async #write(deviceId: DeviceId, calls: readonly SharedCall[] | null): Promise<FoundCalls | null> {
    const { rows, self, directory, queue } = this.#deps;
    for (let attempt = 0; attempt < callClaimsMax; attempt++) {
      const found = await rows.find(deviceId);
      if (found !== null && !this.#isOwn(found)) return found;
      const lost = found?.lost ?? [];
      const live = calls ?? found?.calls ?? directory.sessionsOf(deviceId).map(shared);
      if (!(await rows.put(deviceId, { node: self, calls: live, lost }, found?.revision ?? null))) continue;
      if (lost.length > 0) void queue.perform(deviceId, () => this.#publishLost(deviceId));
      return null;
    }
    throw new Error(`the calls of a device were changed ${callClaimsMax} times while they were written`);
  }

  async #endLost(deviceId: DeviceId, node: MemberId): Promise<void> {
    const { rows } = this.#deps;
    const found = await rows.find(deviceId);
    if (found?.node === node && !(await rows.put(deviceId, this.#claimed(found), found.revision)))
      throw new Error('another node has changed the calls of a device meanwhile');
    await this.#publishLost(deviceId);
  }

  /** Publishes the ends that the row of this node has still, and takes them out of it. */
  async #publishLost(deviceId: DeviceId): Promise<void> {
    const { rows, events, publish } = this.#deps;
    const found = await rows.find(deviceId);
    if (found === null || !this.#isOwn(found) || found.lost.length === 0) return;
    for (const { id, sessionId, atMs } of found.lost) {
      const end = { sessionId, deviceId, from: 'issued', state: 'ended', reason: 'lost', atMs } as const;
      await publish(events.of({ id, draft: callEvent(end) }));
    }
    const { node, calls, revision } = found;
    if (!(await rows.put(deviceId, { node, calls, lost: [] }, revision)))
      throw new Error('another node has changed the calls of a device meanwhile');
  }

  /** The others have published their ends, or `share` does. */
  #endHere(deviceId: DeviceId): void {
    const { directory } = this.#deps;
    for (const { sessionId } of directory.sessionsOf(deviceId)) directory.end(sessionId, 'lost');
  }

  /** A node that drains issues no call, and one without a call may be passed over. */
  #isTheirs(found: FoundCalls): boolean {
    const { members } = this.#deps;
    const { node, calls } = found;
    if (this.#isOwn(found) || !members.isAlive(node)) return false;
    return calls.length > 0 || !members.isDraining(node);
  }

  /** This node's, or an earlier life's of it. */
  #isOwn({ node }: DeviceCalls): boolean {
    return nodeOf(node) === nodeOf(this.#deps.self);
  }

  #hasCalls(deviceId: DeviceId): boolean {
    return this.#deps.directory.sessionsOf(deviceId).length > 0;
  }
}

const unknownNode = 'the node of the calls of a device cannot be found';

function shared({ sessionId, state }: SharedCall): SharedCall {
  return { sessionId, state };
}

export function callLocator(calls: CallOwnership, peers: Pick<Peers, 'self' | 'alive' | 'ask'>): CallLocator {
  return {
    issuerOf: (deviceId) => calls.issuerOf(deviceId),
    locate: (deviceId) => calls.locate(deviceId),
    ask: (member, question, waitMs) => peers.ask(member, question, waitMs),
    isInCallElsewhere: (deviceId) => calls.isInCallElsewhere(deviceId),
    // All members are asked: a bridge that names a session names no device.
    async findElsewhere(sessionId) {
      const question = { kind: 'find-call', sessionId } as const;
      const asked = await Promise.all(
        othersAlive(peers).map((member) => peers.ask<'find-call'>(member, question, callNodeMsMax)),
      );
      return asked.flatMap((answer) => (answer.ok && answer.value !== null ? answer.value : []))[0] ?? null;
    },
  };
}
