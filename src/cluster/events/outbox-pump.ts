/**
 * Brings what this node has committed to where all members see it, in its order. An item is taken as soon as the outbox
 * tells of it, and forgotten when all see it: a crash in between has it brought again. While NATS is away nothing is
 * taken. Source: cluster.md, Events.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import type { Cancel } from '../../lib/clock.ts';
import type {
  CallsItem,
  Outbox,
  OutboxEvent,
  OutboxItem,
  PlacedItem,
  SessionItem,
  WakeupItem,
} from '../../core/ports/outbox.ts';
import { type KeyedQueue, ChangeRefused, inTwo, type Change } from '../nats/keyed-queue.ts';
import { changeRetryMsMax, outboxForgetMax, outboxForgetMs, outboxTakenMax } from '../records/row-limits.ts';
import { claimMsMax } from '../../model/limits.ts';
import { amendedLogin } from '../../model/state/session-event.ts';
import { untoldRecovery, type PublishingDeps } from './made-events.ts';
import { SlotClaim, type ClaimDeps, SlotEnd } from '../ownership/slot-claim.ts';

export interface ChangesDeps extends ClaimDeps, PublishingDeps {
  readonly putWakeup: (item: WakeupItem) => Promise<void>;
  /** False: its event is not to be published. */
  readonly shareCalls: (item: CallsItem) => Promise<boolean>;
  /** Wall milliseconds at which NATS was back the last time. */
  readonly returnedAtMs: () => number;
}

/** What each item of the outbox asks for: the row first, then the event, and each once, however often it is tried. */
export class OutboxChanges {
  readonly #deps: ChangesDeps;

  constructor(deps: ChangesDeps) {
    this.#deps = deps;
  }

  of(item: OutboxItem): Change {
    switch (item.kind) {
      case 'login':
        return this.#login(item);
      case 'ended':
        return this.#ended(item);
      case 'wakeup':
        return this.#wakeup(item);
      case 'calls':
        return this.#calls(item);
      case 'event':
        return () => this.#deps.publish(this.#shared(item.event));
    }
  }

  /** It will not be done: nobody is to wait for it. */
  dropped(item: OutboxItem): void {
    if (item.kind === 'login') this.#deps.claims.settle(item.connection, item.deviceId, item.session);
  }

  #login(item: SessionItem): Change {
    const { atMs: loginAtMs, epoch } = item.event.draft;
    const claim = new SlotClaim(this.#deps, { ...item, loginAtMs, provisionalEpoch: epoch ?? 0 });
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
      if (recovered) again = { ...event, id: again?.id ?? this.#deps.events.id() };
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

  #wakeup(item: WakeupItem): Change {
    const put = async (): Promise<OutboxEvent | null> => {
      await this.#deps.putWakeup(item);
      return item.event === null ? null : this.#shared(item.event);
    };
    return inTwo(put, this.#deps.publish);
  }

  /** Shared again at every try: another node may have ended the call meanwhile. */
  #calls(item: CallsItem): Change {
    const { shareCalls, publish } = this.#deps;
    return async () => {
      const isOurs = await shareCalls(item);
      if (isOurs && item.event !== null) await publish(item.event);
    };
  }

  /**
   * An event that changes no connection; a wakeup's speaks of the sleep session that carried it, which may have had no slot
   * when it happened.
   */
  #shared(event: OutboxEvent): OutboxEvent {
    const { sessions, ownSlots } = this.#deps;
    const { deviceId, epoch } = event.draft;
    const live = sessions.find(deviceId, 'sleep');
    const slot = live === null ? null : ownSlots.find(deviceId, live.session);
    if (slot === null || slot.epoch === 0 || slot.provisionalEpoch !== epoch) return event;
    return withEpoch(event, slot.epoch);
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

export interface PumpDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly outbox: Outbox;
  readonly queue: KeyedQueue;
  readonly changes: OutboxChanges;
  readonly isUnavailable: () => boolean;
}

export class OutboxPump {
  readonly #deps: PumpDeps;
  #after = 0;
  /** Read, and not yet forgotten. */
  #taken = 0;
  #done: number[] = [];
  #isForgetting = false;
  #isRunning = false;
  #unfollow: Cancel = () => undefined;
  #retry: Cancel | null = null;
  #cancelForgetting: Cancel = () => undefined;
  #emptied: (() => void)[] = [];

  constructor(deps: PumpDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#isRunning = true;
    this.#unfollow = this.#deps.outbox.follow(() => this.take());
    this.take();
  }

  /** Takes no more; what is under way goes on, and is brought again after the next start if it comes to nothing. */
  stop(): void {
    this.#isRunning = false;
    this.#unfollow();
    this.#retry?.();
    this.#cancelForgetting();
    for (const resolve of this.#emptied.splice(0)) resolve();
  }

  /** Resolves when nothing waits any more, or with `stop`. */
  emptied(): Promise<void> {
    if (this.#deps.outbox.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#emptied.push(resolve));
  }

  /** As much as there is room for. Also to be called when NATS is back. */
  take(): void {
    const { outbox, isUnavailable } = this.#deps;
    try {
      while (this.#isRunning && this.#taken < outboxTakenMax && !isUnavailable()) {
        const items = outbox.read(this.#after, outboxTakenMax - this.#taken);
        if (items.length === 0) return;
        for (const placed of items) this.#push(placed);
      }
    } catch (error) {
      this.#unreadable(error);
    }
  }

  #push({ place, item }: PlacedItem): void {
    const { queue, changes } = this.#deps;
    this.#after = place;
    this.#taken += 1;
    queue.push(item.deviceId, changes.of(item), () => {
      changes.dropped(item);
      this.#done.push(place);
      this.#forgetSoon();
    });
  }

  #unreadable(error: unknown): void {
    const { log, clock } = this.#deps;
    log.error({ err: error }, 'the outbox cannot be read; will retry');
    this.#retry?.();
    this.#retry = clock.after(changeRetryMsMax, () => this.take());
  }

  #forgetSoon(): void {
    if (this.#isForgetting || !this.#isRunning) return;
    this.#isForgetting = true;
    this.#cancelForgetting = this.#deps.clock.after(outboxForgetMs, () => void this.#forget());
  }

  async #forget(): Promise<void> {
    const { outbox, log } = this.#deps;
    const places = this.#done.splice(0, outboxForgetMax);
    try {
      await outbox.forget(places);
      this.#taken -= places.length;
    } catch (error) {
      log.error({ err: error }, 'shared changes cannot be removed from the outbox; will retry');
      this.#done.unshift(...places);
    }
    this.#isForgetting = false;
    // The store may be closed by now.
    if (!this.#isRunning) return;
    if (this.#done.length > 0) this.#forgetSoon();
    if (outbox.length === 0) for (const resolve of this.#emptied.splice(0)) resolve();
    this.take();
  }
}
