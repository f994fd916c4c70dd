/**
 * One login on its way to its seat in what all members share. A write whose answer was lost may hold, and a crash may
 * come between a row and what follows it: a claim can be made again, and finds what it did. Source: cluster.md, Ownership.
 */
import { reduceShared, type SharedEvent, type SharedStep } from '../../model/state/shared-connection.ts';
import type { ConnectionKind, MarkedEvent, MemberId, Seat, SharedConnection } from '../../model/cluster.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import type { SeatFollower } from '../../core/ports/seat-follower.ts';
import type { ChangedRow, DeviceRows } from '../records/device-rows.ts';
import type { LiveSessions } from './live-sessions.ts';
import type { OwnSeats } from './own-seats.ts';
import type { PendingClaims } from './pending-claims.ts';

export interface ClaimHouse {
  readonly self: MemberId;
  readonly rows: DeviceRows;
  readonly ownSeats: OwnSeats;
  readonly claims: PendingClaims;
  readonly follower: SeatFollower;
  readonly sessions: LiveSessions;
}

export interface ClaimedSession {
  readonly connection: ConnectionKind;
  readonly deviceId: DeviceId;
  readonly session: SessionId;
  readonly member: MemberId;
  readonly node: string;
  /** Wall milliseconds. */
  readonly loginAtMs: number;
  /** What is to be told of it, when it is claimed again. */
  readonly recovered?: MarkedEvent;
}

export interface ClaimedSeat {
  readonly seat: Seat;
  /** It had the seat before this claim was first made: by an earlier life of this node, or of this claim. */
  readonly isKnown: boolean;
  readonly displaced: readonly Seat[];
  /** It had a seat by this claim, which others have ended meanwhile. */
  readonly isRecovered: boolean;
}

export class SeatClaim {
  readonly #house: ClaimHouse;
  readonly #claimed: ClaimedSession;
  /** What was written last. */
  #tried: { readonly epoch: number; readonly displaced: readonly Seat[] } | null = null;
  /** It may have been written, at an earlier try. */
  #mayHold = false;
  #isRecovered = false;

  constructor(house: ClaimHouse, claimed: ClaimedSession) {
    this.#house = house;
    this.#claimed = claimed;
  }

  /** Null: a later login has the seat. Rejects like a change of a row. May be called again, whatever came of it. */
  async settle(isLate: boolean): Promise<ClaimedSeat | null> {
    const { rows, ownSeats, self } = this.#house;
    const { deviceId, connection, session, member, loginAtMs } = this.#claimed;
    if (member === self && ownSeats.find(deviceId, session) === null)
      ownSeats.put({ deviceId, connection, session, loginAtMs, epoch: 0 });
    let changed: ChangedRow;
    try {
      changed = await rows.change(deviceId, connection, (row) => this.#step(row, isLate));
    } finally {
      this.#mayHold = this.#tried !== null;
    }
    const { row, outcome } = changed;
    if (outcome.kind !== 'seated') return this.#lost();
    const isTried = this.#tried?.epoch === outcome.seat.epoch;
    const displaced = isTried ? (this.#tried?.displaced ?? []) : [];
    if (member === self) this.#taken(row, outcome.seat, displaced);
    return { seat: outcome.seat, isKnown: !isTried, displaced, isRecovered: this.#isRecovered };
  }

  /** It is not claimed any more, whatever came of it. */
  giveUp(): void {
    const { connection, deviceId, session } = this.#claimed;
    this.#house.claims.settle(connection, deviceId, session);
  }

  #step(row: SharedConnection, isLate: boolean): SharedStep {
    const { member, node, session, loginAtMs: atMs, connection } = this.#claimed;
    // What is tried again is late: others may have logged in on top of it.
    const event: SharedEvent = {
      kind: 'login',
      member,
      node,
      session,
      atMs,
      isLate: isLate || this.#mayHold,
    };
    const step = this.#marked(reduceShared(connection, row, event));
    if (step.outcome.kind !== 'seated' || !step.outcome.isNew) return step;
    const wasThere = (row.lastLoginAt ?? 0) >= Math.floor(atMs / 1000);
    const hasHeld = this.#mayHold && wasThere && this.#mayHaveHeld(row);
    // What others have ended is not to rise again without a session: not of an earlier life, nor of this one.
    if (member === this.#house.self ? hasHeld && !this.#isLive() : wasThere)
      return { row, outcome: { kind: 'lost' } };
    this.#isRecovered = hasHeld;
    this.#tried = { epoch: step.outcome.seat.epoch, displaced: step.outcome.displaced };
    return step;
  }

  /** The seat says that it was claimed again: whoever ends it tells that first. */
  #marked(step: SharedStep): SharedStep {
    const { recovered } = this.#claimed;
    const { row, outcome } = step;
    if (recovered === undefined || outcome.kind !== 'seated' || !outcome.isNew) return step;
    const seat = { ...outcome.seat, recovered };
    const seats = row.seats.map((other) => (other === outcome.seat ? seat : other));
    return { row: { ...row, seats }, outcome: { ...outcome, seat } };
  }

  /** What was tried is not what another has, and something has come after it. */
  #mayHaveHeld({ epoch, seats, lastOfflineAt }: SharedConnection): boolean {
    if (this.#tried === null || epoch < this.#tried.epoch) return false;
    if (seats.some((seat) => seat.epoch === this.#tried?.epoch)) return false;
    const loginAt = Math.floor(this.#claimed.loginAtMs / 1000);
    return epoch > this.#tried.epoch || (lastOfflineAt ?? 0) >= loginAt;
  }

  #isLive(): boolean {
    const { deviceId, connection, session } = this.#claimed;
    return this.#house.sessions.find(deviceId, connection)?.session === session;
  }

  #taken(row: SharedConnection, seat: Seat, displaced: readonly Seat[]): void {
    const { self, ownSeats, follower } = this.#house;
    const { deviceId, connection, session, loginAtMs } = this.#claimed;
    const { epoch } = seat;
    ownSeats.put({ deviceId, connection, session, loginAtMs, epoch });
    for (const other of displaced) if (other.member === self) ownSeats.delete(deviceId, other.session);
    const { lastLoginAt, lastHeartbeatAt, lastOfflineAt } = row;
    const times = { lastLoginAt, lastHeartbeatAt, lastOfflineAt };
    follower.taken({ connection, deviceId, session, epoch, times, displaced });
    this.giveUp();
  }

  #lost(): null {
    const { self, ownSeats, follower } = this.#house;
    const { deviceId, connection, session, member } = this.#claimed;
    if (member !== self) return null;
    ownSeats.delete(deviceId, session);
    follower.lost({ connection, deviceId, session });
    this.giveUp();
    return null;
  }
}
