/**
 * This member's sessions against what all share: after an outage, when it learns that it was called lost, and when an
 * event of another member says something else of one of them. A session without its slot is claimed again, or closed
 * where a later login has it. Source: cluster.md, Without NATS.
 */
import { loggedSession } from '../../model/state/session-event.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { Outbox } from '../../core/ports/outbox.ts';
import { inTwo, type Change, type KeyedQueue } from '../nats/keyed-queue.ts';
import { RowUnreadable } from '../records/device-rows.ts';
import { eachBounded } from '../nats/each-bounded.ts';
import { lostEvents, recoveredEvent, type PublishingDeps } from '../events/made-events.ts';
import type { OwnSlot } from './own-slots.ts';
import { changeRetryMsMax, lookedAtOnceMax, outboxTakenMax } from '../records/row-limits.ts';
import { SlotEnd, SlotClaim, type ClaimDeps } from './slot-claim.ts';

export interface ReregistrationDeps extends ClaimDeps, PublishingDeps {
  /** The name of this node, in events. */
  readonly node: string;
  readonly queue: KeyedQueue;
  readonly outbox: Pick<Outbox, 'length'>;
  readonly isUnavailable: () => boolean;
}

export class Reregistration {
  readonly #deps: ReregistrationDeps;
  #running: Promise<void> | null = null;
  #isDueAgain = false;
  /** Those that have a slot and were not here, at the look before. */
  readonly #missed = new WeakSet<OwnSlot>();

  constructor(deps: ReregistrationDeps) {
    this.#deps = deps;
  }

  /**
   * Looks at all that have a slot, or had one. Asked for while it runs, it runs once more. Resolves when it has run, and
   * never rejects: what could not be looked at is, by itself, later.
   */
  run(): Promise<void> {
    this.#isDueAgain = true;
    return (this.#running ??= this.#runs());
  }

  /** An event is in the log of all; what it says of a session here is looked after if that does not know it. */
  noticed(event: LoggedEvent): void {
    const told = loggedSession(event);
    if (told === null) return;
    const { sessions, ownSlots } = this.#deps;
    const { deviceId, epoch } = event;
    const live = sessions.find(deviceId, told.connection);
    const slot = live === null ? null : ownSlots.find(deviceId, live.session);
    if (slot === null || slot.epoch === 0) return;
    const isOwn = told.session === slot.session;
    const isNews = told.kind === 'ended' ? isOwn : !isOwn && (epoch ?? 0) > slot.epoch;
    if (isNews) this.#lookSoon([slot]);
  }

  /** Those that are not here any more, though their end is not told: others have their slots, or their end is on its way. */
  lookAfter(slots: readonly OwnSlot[]): void {
    if (slots.length > 0) this.#lookSoon(slots);
  }

  async #runs(): Promise<void> {
    while (this.#isDueAgain) {
      this.#isDueAgain = false;
      await this.#runOnce();
    }
    this.#running = null;
  }

  async #runOnce(): Promise<void> {
    const { ownSlots, clock, log, isUnavailable } = this.#deps;
    try {
      await this.#look(ownSlots.all());
    } catch (error) {
      // Back from the next outage it is run again anyway.
      if (isUnavailable()) return;
      log.warn({ err: error }, 'sessions cannot be compared with the shared rows; will retry');
      clock.after(changeRetryMsMax, () => void this.run());
    }
  }

  #lookSoon(slots: readonly OwnSlot[]): void {
    this.#look(slots).catch(() => void this.run());
  }

  #look(slots: Iterable<OwnSlot>): Promise<void> {
    return eachBounded(slots, lookedAtOnceMax, (slot) => this.#lookAt(slot));
  }

  async #lookAt(slot: OwnSlot): Promise<void> {
    if (slot.epoch === 0) return;
    const { ownSlots, queue } = this.#deps;
    if (await this.#isSeated(slot)) {
      if (!this.#isLive(slot) && ownSlots.find(slot.deviceId, slot.session) === slot)
        await this.#endMissed(slot);
    } else if (this.#isLive(slot)) await queue.perform(slot.deviceId, this.#claimAgain(slot));
    else ownSlots.delete(slot.deviceId, slot.session);
  }

  async #isSeated({ deviceId, connection, session }: OwnSlot): Promise<boolean> {
    const { rows, log } = this.#deps;
    try {
      const row = await rows.find(deviceId);
      return row[connection].slots.some((slot) => slot.session === session);
    } catch (error) {
      if (!(error instanceof RowUnreadable)) throw error;
      log.error({ err: error, device_id: deviceId }, 'a session is left as it is');
      return true;
    }
  }

  /** Still here, and nothing was said of its end or its loss. */
  #isLive({ deviceId, connection, session }: OwnSlot): boolean {
    const { sessions, ownSlots } = this.#deps;
    return (
      sessions.find(deviceId, connection)?.session === session && ownSlots.find(deviceId, session) !== null
    );
  }

  #claimAgain(slot: OwnSlot): Change {
    const { self: member, node, clock, events, publish } = this.#deps;
    const recovered = { id: events.id(), atMs: clock.wallMs() };
    const claim = new SlotClaim(this.#deps, { ...slot, member, node, recovered });
    let isBegun = false;
    return inTwo(async () => {
      // What is begun may hold: its end, which is behind it in the queue, undoes it.
      if (!isBegun && !this.#isLive(slot)) return null;
      isBegun = true;
      const claimed = await claim.settle(true);
      if (claimed === null || claimed.isKnown) return null;
      return events.of(recoveredEvent(slot, claimed.slot, recovered, claimed.superseded.length > 0));
    }, publish);
  }

  /** Nothing of it is under way, and nothing has come of it since it was missed the first time. */
  async #endMissed(slot: OwnSlot): Promise<void> {
    // What waits in the store may be its end; of what is taken nothing is overtaken.
    if (this.#deps.outbox.length >= outboxTakenMax) return;
    if (!this.#missed.has(slot)) {
      this.#missed.add(slot);
      return;
    }
    const { rows, queue, ownSlots, clock, events, publish, log, self: member, node } = this.#deps;
    const { deviceId, connection, session } = slot;
    const atMs = clock.wallMs();
    const end = new SlotEnd(rows, { ...slot, atMs, heartbeatAt: 0, isRepeat: false });
    const id = events.id();
    const settle = async () => {
      if (this.#isLive(slot)) return null;
      const ended = await end.settle();
      ownSlots.delete(deviceId, session);
      return ended;
    };
    log.warn({ device_id: deviceId, connection, session }, 'a session is gone without a trace; it is ended');
    await queue.perform(
      deviceId,
      inTwo(settle, async ({ epoch }) => {
        for (const event of lostEvents(slot, { id, atMs, slot: { ...slot, member, node, epoch } }))
          await publish(events.of(event));
      }),
    );
  }
}
