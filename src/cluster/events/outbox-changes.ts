/**
 * What is to be done for each item of the outbox: the row first, then the event, and each once, however often it is tried.
 * Source: cluster.md, Ownership and Events.
 */
import type { Clock } from '../../lib/clock.ts';
import { claimMsMax } from '../../model/limits.ts';
import type { OutboxEvent, OutboxItem } from '../../core/ports/outbox.ts';
import { inTwo, type Change } from '../nats/change-lanes.ts';
import { untoldRecovery } from './lost-events.ts';
import type { MadeEvents } from './made-events.ts';
import { SeatClaim, type ClaimHouse } from '../ownership/seat-claim.ts';
import { SeatEnd } from '../ownership/seat-end.ts';
import { sharedEvent, sharedLogin, withEpoch, type SharedEpochOf } from './shared-drafts.ts';

type ItemOf<Kind extends OutboxItem['kind']> = OutboxItem & { readonly kind: Kind };
type SessionItem = ItemOf<'login' | 'ended'>;
export type WakeupItem = ItemOf<'wakeup'>;
export type CallsItem = ItemOf<'calls'>;

export interface ChangesHouse extends ClaimHouse {
  readonly clock: Clock;
  /** Resolves when it is in the log of all, once. */
  readonly publish: (event: OutboxEvent) => Promise<void>;
  readonly putWakeup: (item: WakeupItem) => Promise<void>;
  readonly putCalls: (item: CallsItem) => Promise<void>;
  readonly events: MadeEvents;
  readonly sharedEpochOf: SharedEpochOf;
  /** Wall milliseconds at which NATS was back the last time. */
  readonly returnedAtMs: () => number;
}

export class OutboxChanges {
  readonly #house: ChangesHouse;

  constructor(house: ChangesHouse) {
    this.#house = house;
  }

  of(item: OutboxItem): Change {
    switch (item.kind) {
      case 'login':
        return this.#login({ ...item, kind: 'login' });
      case 'ended':
        return this.#ended({ ...item, kind: 'ended' });
      case 'wakeup':
        return this.#kept(item.event, () => this.#house.putWakeup(item));
      case 'calls':
        return this.#kept(item.event, () => this.#house.putCalls(item));
      case 'event':
        return () => this.#house.publish(sharedEvent(item.event, this.#house.sharedEpochOf));
    }
  }

  /** It will not be done: nobody is to wait for it. */
  dropped(item: OutboxItem): void {
    if (item.kind === 'login') this.#house.claims.settle(item.connection, item.deviceId, item.session);
  }

  #login(item: SessionItem): Change {
    const { atMs: loginAtMs } = item.event.draft;
    const claim = new SeatClaim(this.#house, { ...item, loginAtMs });
    let again: OutboxEvent | null = null;
    // The row anew at every try: who could not tell of a login may have been called lost meanwhile.
    return async () => {
      const claimed = await claim.settle(this.#isLate(item));
      if (claimed === null) return;
      const { seat, isKnown, displaced, isRecovered: recovered } = claimed;
      const replaced = isKnown ? null : displaced.length > 0;
      const event = sharedLogin(item.event, { epoch: seat.epoch, replaced, recovered });
      // Another event than the one that may have been told before the session was called lost.
      if (recovered) again = { ...event, id: (again ?? this.#house.events.make(event.draft)).id };
      await this.#house.publish(again ?? event);
    };
  }

  #ended(item: SessionItem): Change {
    const { rows, ownSeats, self, events, publish } = this.#house;
    const { atMs } = item.event.draft;
    const end = new SeatEnd(rows, { ...item, atMs, isRepeat: item.member !== self });
    const settle = async () => {
      const seat = await end.settle();
      ownSeats.delete(item.deviceId, item.session);
      return seat;
    };
    return inTwo(settle, async (seat) => {
      // An earlier life of this node may have died before it told so.
      if (seat.member !== self)
        for (const event of untoldRecovery(item, { ...item, ...seat }, atMs)) await publish(events.of(event));
      await publish(withEpoch(item.event, seat.epoch));
    });
  }

  #kept(event: OutboxEvent | null, put: () => Promise<void>): Change {
    const { publish, sharedEpochOf } = this.#house;
    const prepare = async (): Promise<OutboxEvent | null> => {
      await put();
      return event === null ? null : sharedEvent(event, sharedEpochOf);
    };
    return inTwo(prepare, publish);
  }

  /** It happened a while ago, or in an earlier life, or while nobody saw it. */
  #isLate({ member, event }: SessionItem): boolean {
    const { self, clock, returnedAtMs } = this.#house;
    const { atMs } = event.draft;
    return member !== self || clock.wallMs() - atMs > claimMsMax || atMs <= returnedAtMs();
  }
}
