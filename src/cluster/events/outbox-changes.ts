/**
 * The changes that each item of the outbox asks for: the row first, then the event, and each once, however often it is
 * tried. Source: cluster.md, Ownership and Events.
 */
import type { Clock } from '../../lib/clock.ts';
import type { DeviceId } from '../../model/ids.ts';
import { claimMsMax } from '../../model/limits.ts';
import { amendedLogin } from '../../model/state/session-event.ts';
import type { OutboxEvent, OutboxItem } from '../../core/ports/outbox.ts';
import { ChangeRefused, inTwo, type Change } from '../nats/keyed-queue.ts';
import { untoldRecovery, type MadeEvents } from './made-events.ts';
import { SlotClaim, type ClaimDeps } from '../ownership/slot-claim.ts';
import { SlotEnd } from '../ownership/slot-end.ts';

type ItemOf<Kind extends OutboxItem['kind']> = OutboxItem & { readonly kind: Kind };
type SessionItem = ItemOf<'login' | 'ended'>;
export type WakeupItem = ItemOf<'wakeup'>;
export type CallsItem = ItemOf<'calls'>;

/** The epoch that all members know a device's sleep session by, given the one it has here; the same where that is all there is. */
export type SharedEpochOf = (deviceId: DeviceId, localEpoch: number) => number;

export interface ChangesDeps extends ClaimDeps {
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
  readonly #deps: ChangesDeps;

  constructor(deps: ChangesDeps) {
    this.#deps = deps;
  }

  of(item: OutboxItem): Change {
    switch (item.kind) {
      case 'login':
        return this.#login({ ...item, kind: 'login' });
      case 'ended':
        return this.#ended({ ...item, kind: 'ended' });
      case 'wakeup':
        return this.#kept(item.event, () => this.#deps.putWakeup(item));
      case 'calls':
        return this.#kept(item.event, () => this.#deps.putCalls(item));
      case 'event':
        return () => this.#deps.publish(this.#shared(item.event));
    }
  }

  /** It will not be done: nobody is to wait for it. */
  dropped(item: OutboxItem): void {
    if (item.kind === 'login') this.#deps.claims.settle(item.connection, item.deviceId, item.session);
  }

  #login(item: SessionItem): Change {
    const { atMs: loginAtMs } = item.event.draft;
    const claim = new SlotClaim(this.#deps, { ...item, loginAtMs });
    let again: OutboxEvent | null = null;
    // The row anew at every try: who could not tell of a login may have been called lost meanwhile.
    return async () => {
      const claimed = await claim.settle(this.#isLate(item));
      if (claimed === null) return;
      const { slot, isKnown, superseded, isRecovered: recovered } = claimed;
      const replaced = isKnown ? null : superseded.length > 0;
      const draft = amendedLogin(item.event.draft, { epoch: slot.epoch, replaced, recovered });
      if (draft === null) throw new ChangeRefused(`a login goes with ${item.event.draft.type}`);
      const event = { ...item.event, draft };
      // Another event than the one that may have been told before the session was called lost.
      if (recovered) again = { ...event, id: (again ?? this.#deps.events.make(event.draft)).id };
      await this.#deps.publish(again ?? event);
    };
  }

  #ended(item: SessionItem): Change {
    const { rows, ownSlots, self, events, publish } = this.#deps;
    const { atMs } = item.event.draft;
    const end = new SlotEnd(rows, { ...item, atMs, isRepeat: item.member !== self });
    const settle = async () => {
      const slot = await end.settle();
      ownSlots.delete(item.deviceId, item.session);
      return slot;
    };
    return inTwo(settle, async (slot) => {
      // An earlier life of this node may have died before it told so.
      if (slot.member !== self)
        for (const event of untoldRecovery(item, { ...item, ...slot }, atMs)) await publish(events.of(event));
      await publish(withEpoch(item.event, slot.epoch));
    });
  }

  #kept(event: OutboxEvent | null, put: () => Promise<void>): Change {
    const prepare = async (): Promise<OutboxEvent | null> => {
      await put();
      return event === null ? null : this.#shared(event);
    };
    return inTwo(prepare, this.#deps.publish);
  }

  /** An event that changes no connection; a wakeup's speaks of the sleep session that carried it. */
  #shared(event: OutboxEvent): OutboxEvent {
    const { deviceId, epoch } = event.draft;
    return epoch === null ? event : withEpoch(event, this.#deps.sharedEpochOf(deviceId, epoch));
  }

  /** It happened a while ago, or in an earlier life, or while nobody saw it. */
  #isLate({ member, event }: SessionItem): boolean {
    const { self, clock, returnedAtMs } = this.#deps;
    const { atMs } = event.draft;
    return member !== self || clock.wallMs() - atMs > claimMsMax || atMs <= returnedAtMs();
  }
}

function withEpoch(event: OutboxEvent, epoch: number): OutboxEvent {
  return { ...event, draft: { ...event.draft, epoch } };
}
