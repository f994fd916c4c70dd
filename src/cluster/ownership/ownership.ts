/**
 * Which member has which device, among nodes that share NATS: the parts of it put together, and told when NATS goes and
 * comes back. Source: cluster.md, Ownership, Without NATS and Node loss.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import { settlesWithin } from '../../lib/settles-within.ts';
import type { ConnectionKind, MemberId } from '../../model/cluster.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { DeviceId, ProductId } from '../../model/ids.ts';
import type { ConnectionRecords } from '../../core/ports/connection-records.ts';
import type { Log } from '../../core/ports/log.ts';
import type { Outbox, OutboxEvent } from '../../core/ports/outbox.ts';
import type { SeatFollower } from '../../core/ports/seat-follower.ts';
import type { Whereabouts } from '../../core/ports/whereabouts.ts';
import { BeatReader } from './beat-reader.ts';
import { BeatWriter } from './beat-writer.ts';
import { Burial } from '../membership/burial.ts';
import { ChangeLanes } from '../nats/change-lanes.ts';
import { ClaimedRecords } from '../records/claimed-records.ts';
import { DeviceRows } from '../records/device-rows.ts';
import type { LiveSessions } from './live-sessions.ts';
import { MadeEvents } from '../events/made-events.ts';
import { NatsWhereabouts } from '../records/nats-whereabouts.ts';
import { OutboxChanges, type CallsItem, type WakeupItem } from '../events/outbox-changes.ts';
import { OutboxPump } from '../events/outbox-pump.ts';
import { OwnSeats } from './own-seats.ts';
import { PendingClaims } from './pending-claims.ts';
import { Reclaim } from './reclaim.ts';
import type { BeatBucket, RowBucket } from '../records/row-bucket.ts';
import { changeRetryMsMin } from '../records/row-limits.ts';
import type { SharedEpochOf } from '../events/shared-drafts.ts';

/** The connection to NATS, as `NatsLink` has it. */
export interface SharedLink {
  readonly isAway: boolean;
  onChange(told: (isAway: boolean) => void): Cancel;
  ready(): Promise<void>;
}

export interface OwnershipHouse {
  readonly link: SharedLink;
  readonly rows: RowBucket;
  readonly beats: BeatBucket;
  readonly self: MemberId;
  /** The name of this node, in events. */
  readonly node: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Draws from 0 to 1. */
  readonly random: () => number;
  readonly outbox: Outbox;
  readonly sessions: LiveSessions;
  readonly follower: SeatFollower;
  readonly sharedEpochOf: SharedEpochOf;
  readonly productOf: (deviceId: DeviceId) => ProductId | null;
  /** Resolves when it is in the log of all, once; rejects while NATS is away. */
  readonly publish: (event: OutboxEvent) => Promise<void>;
  readonly putWakeup: (item: WakeupItem) => Promise<void>;
  readonly putCalls: (item: CallsItem) => Promise<void>;
}

export class Ownership {
  readonly whereabouts: Whereabouts;
  readonly #house: OwnershipHouse;
  readonly #claims: PendingClaims;
  readonly #lanes: ChangeLanes;
  readonly #pump: OutboxPump;
  readonly #reclaim: Reclaim;
  readonly #beatWriter: BeatWriter;
  readonly #burial: Burial;
  #returnedAtMs = 0;
  #isStopped = false;
  #unfollow: Cancel = () => undefined;

  constructor(house: OwnershipHouse) {
    const { clock, outbox, link } = house;
    const isAway = (): boolean => link.isAway;
    const rows = new DeviceRows(house.rows, clock, house.random);
    const lanes = new ChangeLanes({ clock, log: house.log, isAway, waiting: () => outbox.length });
    const claims = new PendingClaims(clock, isAway);
    const events = new MadeEvents(clock, house.productOf);
    const beats = new BeatReader(house.beats, clock);
    const returnedAtMs = (): number => this.#returnedAtMs;
    const shared = { ...house, rows, lanes, claims, events, isAway, ownSeats: new OwnSeats(), returnedAtMs };
    this.#house = house;
    this.#claims = claims;
    this.#lanes = lanes;
    this.#pump = new OutboxPump({ ...shared, changes: new OutboxChanges(shared) });
    this.#reclaim = new Reclaim(shared);
    this.#burial = new Burial({ ...shared, bucket: house.rows, beats });
    const lookAfter: Reclaim['lookAfter'] = (seats) => this.#reclaim.lookAfter(seats);
    this.#beatWriter = new BeatWriter({ ...shared, rows: house.rows, beats: house.beats, lookAfter });
    this.whereabouts = new NatsWhereabouts(rows, beats, clock, isAway);
  }

  /** The store's records, for whoever waits for logins. */
  records(records: ConnectionRecords, connection: ConnectionKind): ConnectionRecords {
    return new ClaimedRecords(records, connection, this.#claims);
  }

  /** Returns at once: what is committed here is brought to NATS as soon as that is there. */
  start(): void {
    this.#unfollow = this.#house.link.onChange((isAway) => this.#changed(isAway));
    void this.#begin();
  }

  /** After the last session has ended: waits at most `waitMs` until others see that, then nothing more is brought. */
  async stop(waitMs: number): Promise<void> {
    const { clock, link, outbox } = this.#house;
    await settlesWithin(clock, waitMs, this.#pump.emptied());
    this.#isStopped = true;
    this.#unfollow();
    this.#pump.stop();
    await this.#beatWriter.stop();
    // What waits still is ended by its burial, which begins with what is written down.
    if (!link.isAway && outbox.length === 0) await settlesWithin(clock, waitMs, this.#beatWriter.remove());
  }

  /** All sessions of a lost member. Rejects while NATS is away; may be called again. */
  bury(member: MemberId): Promise<void> {
    return this.#burial.bury(member);
  }

  /** This member learns that it was called lost. Resolves when its sessions were looked at; never rejects. */
  reclaim(): Promise<void> {
    return this.#reclaim.run();
  }

  /** To be told of every event that comes into the log of all. */
  noticed(event: LoggedEvent): void {
    this.#reclaim.noticed(event);
  }

  async #begin(): Promise<void> {
    const { link, clock, log } = this.#house;
    await link.ready();
    if (this.#isStopped) return;
    try {
      await this.#beatWriter.begin();
      if (this.#isStopped) await this.#beatWriter.stop();
      else this.#pump.start();
    } catch (error) {
      log.debug({ err: error }, 'sessions cannot be shared yet; tried on');
      clock.after(changeRetryMsMin, () => void this.#begin());
    }
  }

  #changed(isAway: boolean): void {
    if (isAway) {
      this.#claims.settleAll();
      return;
    }
    this.#returnedAtMs = this.#house.clock.wallMs();
    this.#lanes.resume();
    this.#pump.take();
    void this.#reclaim.run();
  }
}
