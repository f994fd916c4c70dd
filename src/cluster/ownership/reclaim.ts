/**
 * This member's sessions against what all share: after an outage, when it learns that it was called lost, and when an
 * event of another member says something else of one of them. A session without its seat is claimed again, or closed
 * where a later login has it. Source: cluster.md, Without NATS.
 */
import type { Clock } from '../../lib/clock.ts';
import { sessionEvent } from '../events/session-events.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { Outbox, OutboxEvent } from '../../core/ports/outbox.ts';
import type { Log } from '../../core/ports/log.ts';
import { inTwo, type Change, type ChangeLanes } from '../nats/change-lanes.ts';
import { RowUnreadable } from '../records/device-rows.ts';
import { eachBounded } from '../nats/each-bounded.ts';
import { lostEvents, recoveredEvent } from '../events/lost-events.ts';
import type { MadeEvents } from '../events/made-events.ts';
import type { OwnSeat } from './own-seats.ts';
import { changeRetryMsMax, lookedAtOnceMax, outboxTakenMax } from '../records/row-limits.ts';
import { SeatEnd } from './seat-end.ts';
import { SeatClaim, type ClaimHouse } from './seat-claim.ts';

export interface ReclaimHouse extends ClaimHouse {
  /** The name of this node, in events. */
  readonly node: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly lanes: ChangeLanes;
  readonly outbox: Pick<Outbox, 'length'>;
  readonly events: MadeEvents;
  readonly publish: (event: OutboxEvent) => Promise<void>;
  readonly isAway: () => boolean;
}

export class Reclaim {
  readonly #house: ReclaimHouse;
  #running: Promise<void> | null = null;
  #isDueAgain = false;
  /** Those that have a seat and were not here, at the look before. */
  readonly #missed = new WeakSet<OwnSeat>();

  constructor(house: ReclaimHouse) {
    this.#house = house;
  }

  /**
   * Looks at all that have a seat, or had one. Asked for while it runs, it runs once more. Resolves when it has run, and
   * never rejects: what could not be looked at is, by itself, later.
   */
  run(): Promise<void> {
    this.#isDueAgain = true;
    return (this.#running ??= this.#runs());
  }

  /** An event is in the log of all; what it says of a session here is looked after if that does not know it. */
  noticed(event: LoggedEvent): void {
    const told = sessionEvent(event);
    if (told === null) return;
    const { sessions, ownSeats } = this.#house;
    const { deviceId, epoch } = event;
    const live = sessions.find(deviceId, told.connection);
    const seat = live === null ? null : ownSeats.find(deviceId, live.session);
    if (seat === null || seat.epoch === 0) return;
    const isOwn = told.session === seat.session;
    const isNews = told.isEnd ? isOwn : !isOwn && (epoch ?? 0) > seat.epoch;
    if (isNews) this.#lookSoon([seat]);
  }

  /** Those that are not here any more, though their end is not told: others have their seats, or their end is on its way. */
  lookAfter(seats: readonly OwnSeat[]): void {
    if (seats.length > 0) this.#lookSoon(seats);
  }

  async #runs(): Promise<void> {
    while (this.#isDueAgain) {
      this.#isDueAgain = false;
      await this.#runOnce();
    }
    this.#running = null;
  }

  async #runOnce(): Promise<void> {
    const { ownSeats, clock, log, isAway } = this.#house;
    try {
      await this.#look(ownSeats.all());
    } catch (error) {
      // Back from the next outage it is run again anyway.
      if (isAway()) return;
      log.warn({ err: error }, 'sessions cannot be compared with what all share; tried on');
      clock.after(changeRetryMsMax, () => void this.run());
    }
  }

  #lookSoon(seats: readonly OwnSeat[]): void {
    this.#look(seats).catch(() => void this.run());
  }

  #look(seats: Iterable<OwnSeat>): Promise<void> {
    return eachBounded(seats, lookedAtOnceMax, (seat) => this.#lookAt(seat));
  }

  async #lookAt(seat: OwnSeat): Promise<void> {
    if (seat.epoch === 0) return;
    const { ownSeats, lanes } = this.#house;
    if (await this.#isSeated(seat)) {
      if (!this.#isLive(seat) && ownSeats.find(seat.deviceId, seat.session) === seat)
        await this.#endMissed(seat);
    } else if (this.#isLive(seat)) await lanes.perform(seat.deviceId, this.#claimAgain(seat));
    else ownSeats.delete(seat.deviceId, seat.session);
  }

  async #isSeated({ deviceId, connection, session }: OwnSeat): Promise<boolean> {
    const { rows, log } = this.#house;
    try {
      const row = await rows.find(deviceId);
      return row[connection].seats.some((seat) => seat.session === session);
    } catch (error) {
      if (!(error instanceof RowUnreadable)) throw error;
      log.error({ err: error, device_id: deviceId }, 'a session is left as it is');
      return true;
    }
  }

  /** Still here, and nothing was said of its end or its loss. */
  #isLive({ deviceId, connection, session }: OwnSeat): boolean {
    const { sessions, ownSeats } = this.#house;
    return (
      sessions.find(deviceId, connection)?.session === session && ownSeats.find(deviceId, session) !== null
    );
  }

  #claimAgain(seat: OwnSeat): Change {
    const { self: member, node, clock, events, publish } = this.#house;
    const recovered = { id: events.id(), atMs: clock.wallMs() };
    const claim = new SeatClaim(this.#house, { ...seat, member, node, recovered });
    let isBegun = false;
    return inTwo(async () => {
      // What is begun may hold: its end, which is behind it in the lane, undoes it.
      if (!isBegun && !this.#isLive(seat)) return null;
      isBegun = true;
      const claimed = await claim.settle(true);
      if (claimed === null || claimed.isKnown) return null;
      return events.of(recoveredEvent(seat, claimed.seat, recovered, claimed.displaced.length > 0));
    }, publish);
  }

  /** Nothing of it is under way, and nothing has come of it since it was missed the first time. */
  async #endMissed(seat: OwnSeat): Promise<void> {
    // What waits in the store may be its end; of what is taken nothing is overtaken.
    if (this.#house.outbox.length >= outboxTakenMax) return;
    if (!this.#missed.has(seat)) {
      this.#missed.add(seat);
      return;
    }
    const { rows, lanes, ownSeats, clock, events, publish, log, self: member, node } = this.#house;
    const { deviceId, connection, session } = seat;
    const atMs = clock.wallMs();
    const end = new SeatEnd(rows, { ...seat, atMs, heartbeatAt: 0, isRepeat: false });
    const id = events.id();
    const settle = async () => {
      if (this.#isLive(seat)) return null;
      const ended = await end.settle();
      ownSeats.delete(deviceId, session);
      return ended;
    };
    log.warn({ device_id: deviceId, connection, session }, 'a session is gone without a trace; it is ended');
    await lanes.perform(
      deviceId,
      inTwo(settle, async ({ epoch }) => {
        for (const event of lostEvents(seat, { id, atMs, seat: { ...seat, member, node, epoch } }))
          await publish(events.of(event));
      }),
    );
  }
}
