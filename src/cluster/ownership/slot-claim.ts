/**
 * One login on its way to its slot in what all members share, and one end on its way out of it. A write whose answer was lost
 * may hold, and a crash may come between a row and what follows it: a claim and an end can be made again, and find what they
 * did. Source: cluster.md, Ownership.
 */
import { reduceShared, type SharedEvent, type SharedStep } from '../../model/state/shared-connection.ts';
import type {
  SessionName,
  MarkedEvent,
  MemberId,
  SessionSlot,
  SharedConnection,
} from '../../model/cluster.ts';
import type { SessionId } from '../../model/ids.ts';
import type { SlotFollower } from '../../core/ports/session-locator.ts';
import type { ChangedRow, DeviceRows } from '../records/device-rows.ts';
import type { LiveSessions, OwnSlots } from './own-slots.ts';
import type { PendingClaims } from './pending-claims.ts';

export interface ClaimDeps {
  readonly self: MemberId;
  readonly rows: DeviceRows;
  readonly ownSlots: OwnSlots;
  readonly claims: PendingClaims;
  readonly follower: SlotFollower;
  readonly sessions: LiveSessions;
}

export interface ClaimedSession extends SessionName {
  readonly member: MemberId;
  readonly node: string;
  /** Wall milliseconds. */
  readonly loginAtMs: number;
  readonly provisionalEpoch: number;
  /** What is to be told of it, when it is claimed again. */
  readonly recovered?: MarkedEvent;
}

export interface ClaimedSlot {
  readonly slot: SessionSlot;
  /** It had the slot before this claim was first made: by an earlier life of this node, or of this claim. */
  readonly isKnown: boolean;
  readonly superseded: readonly SessionSlot[];
  /** It had a slot by this claim, which others have ended meanwhile. */
  readonly isRecovered: boolean;
}

export class SlotClaim {
  readonly #deps: ClaimDeps;
  readonly #claimed: ClaimedSession;
  /** What was written last. */
  #tried: { readonly epoch: number; readonly superseded: readonly SessionSlot[] } | null = null;
  /** It may have been written, at an earlier try. */
  #mayHold = false;
  #isRecovered = false;

  constructor(deps: ClaimDeps, claimed: ClaimedSession) {
    this.#deps = deps;
    this.#claimed = claimed;
  }

  /** Null: a later login has the slot. Rejects like a change of a row. May be called again, whatever came of it. */
  async settle(isLate: boolean): Promise<ClaimedSlot | null> {
    const { rows, ownSlots, self } = this.#deps;
    const { deviceId, connection, session, member } = this.#claimed;
    if (member === self && ownSlots.find(deviceId, session) === null) this.#note(0);
    let changed: ChangedRow;
    try {
      changed = await rows.change(deviceId, connection, (row) => this.#step(row, isLate));
    } finally {
      this.#mayHold = this.#tried !== null;
    }
    const { row, outcome } = changed;
    if (outcome.kind !== 'claimed') return this.#lost();
    const isTried = this.#tried?.epoch === outcome.slot.epoch;
    const superseded = isTried ? (this.#tried?.superseded ?? []) : [];
    if (member === self) this.#taken(row, outcome.slot, superseded);
    return { slot: outcome.slot, isKnown: !isTried, superseded, isRecovered: this.#isRecovered };
  }

  /** It is not claimed any more, whatever came of it. */
  giveUp(): void {
    const { connection, deviceId, session } = this.#claimed;
    this.#deps.claims.settle(connection, deviceId, session);
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
    if (step.outcome.kind !== 'claimed' || !step.outcome.isNew) return step;
    const wasThere = (row.lastLoginAt ?? 0) >= Math.floor(atMs / 1000);
    const hasHeld = this.#mayHold && wasThere && this.#mayHaveHeld(row);
    // What others have ended is not to rise again without a session: not of an earlier life, nor of this one.
    if (member === this.#deps.self ? hasHeld && !this.#isLive() : wasThere)
      return { row, outcome: { kind: 'lost' } };
    this.#isRecovered = hasHeld;
    this.#tried = { epoch: step.outcome.slot.epoch, superseded: step.outcome.superseded };
    return { ...step, row: withoutLoss(step.row, session) };
  }

  /** The slot says that it was claimed again: the member that ends it publishes that first. */
  #marked(step: SharedStep): SharedStep {
    const { recovered } = this.#claimed;
    const { row, outcome } = step;
    if (recovered === undefined || outcome.kind !== 'claimed' || !outcome.isNew) return step;
    const slot = { ...outcome.slot, recovered };
    const slots = row.slots.map((other) => (other === outcome.slot ? slot : other));
    return { row: { ...row, slots }, outcome: { ...outcome, slot } };
  }

  /** What was tried is not what another has, and something has come after it. */
  #mayHaveHeld({ epoch, slots, lastOfflineAt }: SharedConnection): boolean {
    if (this.#tried === null || epoch < this.#tried.epoch) return false;
    if (slots.some((slot) => slot.epoch === this.#tried?.epoch)) return false;
    const loginAt = Math.floor(this.#claimed.loginAtMs / 1000);
    return epoch > this.#tried.epoch || (lastOfflineAt ?? 0) >= loginAt;
  }

  #note(epoch: number): void {
    const { deviceId, connection, session, loginAtMs, provisionalEpoch } = this.#claimed;
    this.#deps.ownSlots.put({ deviceId, connection, session, loginAtMs, provisionalEpoch, epoch });
  }

  #isLive(): boolean {
    const { deviceId, connection, session } = this.#claimed;
    return this.#deps.sessions.find(deviceId, connection)?.session === session;
  }

  #taken(row: SharedConnection, slot: SessionSlot, superseded: readonly SessionSlot[]): void {
    const { self, ownSlots, follower } = this.#deps;
    const { deviceId, connection, session } = this.#claimed;
    const { epoch } = slot;
    this.#note(epoch);
    for (const other of superseded) if (other.member === self) ownSlots.delete(deviceId, other.session);
    const { lastLoginAt, lastHeartbeatAt, lastOfflineAt } = row;
    const times = { lastLoginAt, lastHeartbeatAt, lastOfflineAt };
    follower.claimed({ connection, deviceId, session, epoch, times, superseded });
    this.giveUp();
  }

  #lost(): null {
    const { self, ownSlots, follower } = this.#deps;
    const { deviceId, connection, session, member } = this.#claimed;
    if (member !== self) return null;
    ownSlots.delete(deviceId, session);
    follower.lost({ connection, deviceId, session });
    this.giveUp();
    return null;
  }
}

/** It was called lost, and has its slot again: whoever finds its end knows that it is not that one. */
function withoutLoss(row: SharedConnection, session: SessionId): SharedConnection {
  const { failedOver } = row;
  if (failedOver?.some(({ slot }) => slot.session === session) !== true) return row;
  return { ...row, failedOver: failedOver.filter(({ slot }) => slot.session !== session) };
}

export interface EndedSession extends SessionName {
  /** Wall milliseconds. */
  readonly atMs: number;
  /** Unix seconds; 0: none. */
  readonly heartbeatAt: number;
  /** It may have been told before a crash. */
  readonly isRepeat: boolean;
}

export type EndedSlot = Pick<SessionSlot, 'epoch'> & Partial<Pick<SessionSlot, 'member' | 'recovered'>>;

export class SlotEnd {
  readonly #rows: DeviceRows;
  readonly #ended: EndedSession;
  /** Struck off by what may hold. */
  #tried: SessionSlot | null = null;
  #mayHold: boolean;

  constructor(rows: DeviceRows, ended: EndedSession) {
    this.#rows = rows;
    this.#ended = ended;
    this.#mayHold = ended.isRepeat;
  }

  /** The slot it had, as far as it is known; null: it had none, and its end was told or is none. Rejects like a change of a row. */
  async settle(): Promise<EndedSlot | null> {
    const { deviceId, connection, session, atMs, heartbeatAt } = this.#ended;
    const event: SharedEvent = { kind: 'ended', session, atMs, heartbeatAt };
    let changed: ChangedRow;
    try {
      changed = await this.#rows.change(deviceId, connection, (row) => {
        const step = reduceShared(connection, row, event);
        if (step.outcome.kind === 'left') this.#tried = step.outcome.slot;
        return step;
      });
    } catch (error) {
      this.#mayHold ||= this.#tried !== null;
      throw error;
    }
    if (changed.outcome.kind === 'left') return changed.outcome.slot;
    return this.#mayHold ? this.#found(changed.row) : null;
  }

  /** The row says that a session ended at this very time: it was this one, and its event may not have been told. */
  #found(row: SharedConnection): EndedSlot | null {
    if (row.lastOfflineAt !== Math.floor(this.#ended.atMs / 1000)) return null;
    if (this.#tried !== null) return this.#tried;
    return row.slots.length === 0 && !this.#isFailedOver(row) ? { epoch: row.epoch } : null;
  }

  /** Others have called it lost, and tell so; it was not claimed again. */
  #isFailedOver({ failedOver = [] }: SharedConnection): boolean {
    return failedOver.some(({ slot }) => slot.session === this.#ended.session);
  }
}
