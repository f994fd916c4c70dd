/**
 * Which member has which device, among nodes that share NATS: the parts of it put together, and told when NATS goes and
 * comes back. Source: cluster.md, Ownership, Without NATS and Node loss.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import { type Cancel, completesWithin } from '../../lib/clock.ts';
import type { MemberId } from '../../model/cluster.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { DeviceId, ProductId } from '../../model/ids.ts';
import type { Outbox, OutboxEvent, WakeupItem } from '../../core/ports/outbox.ts';
import type { SlotFollower, SessionLocator } from '../../core/ports/session-locator.ts';
import { HeartbeatReader, type HeartbeatStore, HeartbeatWriter } from './written-heartbeats.ts';
import { Failover } from '../membership/failover.ts';
import { KeyedQueue } from '../nats/keyed-queue.ts';
import { CallOwnership, type CallOwnershipDeps } from './call-ownership.ts';
import { DeviceRows } from '../records/device-rows.ts';
import { type LiveSessions, OwnSlots } from './own-slots.ts';
import { MadeEvents } from '../events/made-events.ts';
import { NatsSessionLocator } from '../records/nats-session-locator.ts';
import { OutboxChanges, OutboxPump } from '../events/outbox-pump.ts';
import type { PendingClaims } from './pending-claims.ts';
import { Reregistration } from './reregistration.ts';
import type { KvStore } from '../nats/kv-store.ts';
import { changeRetryMsMin } from '../records/row-limits.ts';
import type { MembersLink } from '../membership/nats-leases.ts';

export interface OwnershipDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly link: MembersLink;
  readonly rows: Pick<KvStore, 'find' | 'compareAndSet' | 'position' | 'since'>;
  readonly heartbeats: HeartbeatStore;
  readonly self: MemberId;
  /** The name of this node, in events. */
  readonly node: string;
  /** Draws from 0 to 1. */
  readonly random: () => number;
  readonly outbox: Outbox;
  readonly sessions: LiveSessions;
  /** What this member's records wait for before a login counts as committed. */
  readonly claims: PendingClaims;
  readonly follower: SlotFollower;
  readonly productOf: (deviceId: DeviceId) => ProductId | null;
  /** Resolves when it is in the log of all, once; rejects while NATS is unavailable. */
  readonly publish: (event: OutboxEvent) => Promise<void>;
  readonly putWakeup: (item: WakeupItem) => Promise<void>;
  readonly calls: Pick<CallOwnershipDeps, 'members' | 'rows' | 'directory' | 'isEnded'>;
}

export class Ownership {
  readonly locator: SessionLocator;
  readonly calls: CallOwnership;
  readonly #deps: OwnershipDeps;
  readonly #claims: PendingClaims;
  readonly #queue: KeyedQueue;
  readonly #pump: OutboxPump;
  readonly #reregistration: Reregistration;
  readonly #heartbeatWriter: HeartbeatWriter;
  readonly #failover: Failover;
  #returnedAtMs = 0;
  #isStopped = false;
  #unfollow: Cancel = () => undefined;

  constructor(deps: OwnershipDeps) {
    const { clock, outbox, link } = deps;
    const isUnavailable = (): boolean => link.isUnavailable;
    const rows = new DeviceRows(deps.rows, clock, deps.random);
    const queue = new KeyedQueue({ clock, log: deps.log, isUnavailable, waiting: () => outbox.length });
    const events = new MadeEvents(clock, deps.productOf);
    const heartbeats = new HeartbeatReader(deps.heartbeats, clock);
    const returnedAtMs = (): number => this.#returnedAtMs;
    const shared = {
      ...deps,
      rows,
      queue,
      events,
      isUnavailable,
      ownSlots: new OwnSlots(),
      returnedAtMs,
    };
    this.#deps = deps;
    this.#claims = deps.claims;
    this.#queue = queue;
    this.calls = new CallOwnership({ ...shared, ...deps.calls });
    const shareCalls = this.calls.share.bind(this.calls);
    this.#pump = new OutboxPump({ ...shared, changes: new OutboxChanges({ ...shared, shareCalls }) });
    this.#reregistration = new Reregistration(shared);
    this.#failover = new Failover({ ...shared, kv: deps.rows, heartbeats });
    const lookAfter: Reregistration['lookAfter'] = (slots) => this.#reregistration.lookAfter(slots);
    this.#heartbeatWriter = new HeartbeatWriter({
      ...shared,
      rows: deps.rows,
      heartbeats: deps.heartbeats,
      lookAfter,
    });
    this.locator = new NatsSessionLocator(rows, heartbeats, clock, isUnavailable);
  }

  /** Returns at once: what is committed here is brought to NATS as soon as that is there. */
  start(): void {
    this.#unfollow = this.#deps.link.onChange((isUnavailable) => this.#changed(isUnavailable));
    void this.#begin();
  }

  /** After the last session has ended: waits at most `waitMs` until others see that, then nothing more is brought. */
  async stop(waitMs: number): Promise<void> {
    const { clock, link, outbox } = this.#deps;
    await completesWithin(clock, waitMs, this.#pump.emptied());
    this.#isStopped = true;
    this.#unfollow();
    this.#pump.stop();
    await this.#heartbeatWriter.stop();
    // What waits still is ended by the failover of this member, which begins with what is written down.
    if (!link.isUnavailable && outbox.length === 0)
      await completesWithin(clock, waitMs, this.#heartbeatWriter.remove());
  }

  /** Ends all sessions and calls of a lost member. Rejects while NATS is unavailable; may be called again. */
  async failOver(member: MemberId): Promise<void> {
    await this.#failover.failOver(member);
    await this.calls.failOver(member);
  }

  /** This member learns that it was called lost. Resolves when its sessions were looked at; never rejects. */
  reregister(): Promise<void> {
    void this.calls.reconcile();
    return this.#reregistration.run();
  }

  /** To be told of every event that comes into the log of all. */
  noticed(event: LoggedEvent): void {
    this.#reregistration.noticed(event);
  }

  async #begin(): Promise<void> {
    const { link, clock, log } = this.#deps;
    await link.ready();
    if (this.#isStopped) return;
    try {
      await this.#heartbeatWriter.begin();
      if (this.#isStopped) await this.#heartbeatWriter.stop();
      else this.#pump.start();
    } catch (error) {
      log.debug({ err: error }, 'sessions cannot be shared yet; will retry');
      clock.after(changeRetryMsMin, () => void this.#begin());
    }
  }

  #changed(isUnavailable: boolean): void {
    if (isUnavailable) {
      this.#claims.settleAll();
      return;
    }
    this.#returnedAtMs = this.#deps.clock.wallMs();
    this.#queue.resume();
    this.#pump.take();
    void this.#reregistration.run();
  }
}
