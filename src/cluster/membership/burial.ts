/**
 * The sessions of a lost member, ended for it: those that it wrote down last, and those in rows that have changed since.
 * Each is ended once, whoever buries and however often, and none that was claimed since the burial began: a burier that
 * was stopped on the way does no harm. Source: cluster.md, Node loss.
 */
import type { Clock } from '../../lib/clock.ts';
import { decodeDeviceRow, type DeviceBeat } from '../../protocol/cluster/stored-values.ts';
import type { ConnectionKind, DeviceRow, MemberId, Seat } from '../../model/cluster.ts';
import type { SessionId } from '../../model/ids.ts';
import type { Log } from '../../core/ports/log.ts';
import type { OutboxEvent } from '../../core/ports/outbox.ts';
import type { BeatReader } from '../ownership/beat-reader.ts';
import { inTwo, type ChangeLanes } from '../nats/change-lanes.ts';
import { RowUnreadable, type DeviceRows } from '../records/device-rows.ts';
import { eachBounded } from '../nats/each-bounded.ts';
import { lostEvents } from '../events/lost-events.ts';
import type { MadeEvents } from '../events/made-events.ts';
import type { RowBucket } from '../records/row-bucket.ts';
import { lookedAtOnceMax } from '../records/row-limits.ts';
import { buriedIn, burySeat, type LostSeat } from '../ownership/seat-burial.ts';

export interface BurialHouse {
  readonly clock: Clock;
  readonly log: Log;
  readonly rows: DeviceRows;
  readonly bucket: Pick<RowBucket, 'since'>;
  readonly beats: BeatReader;
  readonly lanes: ChangeLanes;
  readonly events: MadeEvents;
  readonly publish: (event: OutboxEvent) => Promise<void>;
}

const connections = ['sleep', 'signal'] as const;

/** What is to be ended, by its session. As many as the lost member had. */
type LostSeats = Map<SessionId, LostSeat>;

export class Burial {
  readonly #house: BurialHouse;

  constructor(house: BurialHouse) {
    this.#house = house;
  }

  /** Resolves when nothing of it is left. Rejects while NATS is away, and is to be called again then. */
  async bury(member: MemberId): Promise<void> {
    const { beats, log } = this.#house;
    const seats = await this.#seatsOf(member);
    await eachBounded(seats.values(), lookedAtOnceMax, (lost) => this.#end(lost));
    await beats.remove(member);
    log.info({ member, sessions: seats.size }, 'sessions of a lost member are closed');
  }

  /** Without anything written down all rows are looked at. */
  async #seatsOf(member: MemberId): Promise<LostSeats> {
    const { beats, bucket } = this.#house;
    const seats: LostSeats = new Map();
    const written: DeviceBeat[] = [];
    let position = Infinity;
    for await (const part of beats.parts(member)) {
      for (const beat of part.beats) written.push(beat);
      position = Math.min(position, part.position);
    }
    await eachBounded(written, lookedAtOnceMax, (beat) => this.#find(beat, seats));
    for await (const { bytes } of bucket.since(position === Infinity ? 0 : position)) {
      const decoded = decodeDeviceRow(bytes);
      if (!decoded.ok) continue;
      const { deviceId, row } = decoded.value;
      for (const connection of connections)
        for (const seat of seatsIn(row, connection))
          if (seat.member === member && !seats.has(seat.session))
            seats.set(seat.session, { deviceId, connection, seat, heartbeatAt: 0 });
    }
    return seats;
  }

  async #find({ deviceId, connection, session, heartbeatAt }: DeviceBeat, seats: LostSeats): Promise<void> {
    const { rows, log } = this.#house;
    try {
      const seat = seatsIn(await rows.find(deviceId), connection).find((other) => other.session === session);
      if (seat !== undefined) seats.set(session, { deviceId, connection, seat, heartbeatAt });
    } catch (error) {
      if (!(error instanceof RowUnreadable)) throw error;
      log.error({ err: error, device_id: deviceId }, 'a session of a lost member is left as it is');
    }
  }

  /** Behind what this member itself has to say of the device. */
  #end(lost: LostSeat): Promise<void> {
    const { rows, clock, lanes, events, publish } = this.#house;
    const marked = { id: events.id(), atMs: clock.wallMs() };
    const share = () => burySeat(rows, lost, marked);
    const tell = inTwo(share, async (buried) => {
      for (const event of lostEvents(lost, buried)) await publish(events.of(event));
    });
    return lanes.perform(lost.deviceId, tell);
  }
}

/** Those that have one, and those that were buried: the newest of a session first. */
function seatsIn(row: DeviceRow, connection: ConnectionKind): Seat[] {
  const buried = buriedIn(row[connection]).map(({ seat }) => seat);
  return [...row[connection].seats, ...buried.toReversed()];
}
