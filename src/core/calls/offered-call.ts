/**
 * The calls that are offered and the bridges that stand idle, as the pool knows them (bridge-pool.ts). Source:
 * calls-and-media.md, Legs.
 */
import type { Cancel } from '../../lib/clock.ts';
import type { CallSession } from '../../model/call.ts';
import type { ApplicationId, SessionId } from '../../model/ids.ts';
import type { ReservationRefusal } from '../../model/media/picture.ts';
import type { LineKey, Waiter } from '../devices/application-lines.ts';

/** What a call without a bridge waits for; `load`, `engine`: the media processes with idle bridges cannot carry it. */
export type WaitsFor = 'bridge' | ReservationRefusal;

export function isFree(bridge: IdleBridge): boolean {
  return bridge.question === null;
}

/** Once; and where its media process cannot carry the call, not before that has told its load anew. */
export function mayBeAsked(bridge: IdleBridge, call: OfferedCall): boolean {
  return !bridge.asked.has(call) && !call.uncarriedBy.has(bridge.process);
}

/** The leg of an idle bridge. Either call may make it leave the pool in the same turn. */
export interface BridgeCandidate {
  /** Will you take this call? */
  ask(sessionId: SessionId): void;
  /** It is yours. False: it is over by now, and the bridge stays idle. */
  give(session: CallSession): boolean;
}

interface Question {
  /** Null: the call is over, or has its bridge otherwise; the one that was asked still owes its answer. */
  call: OfferedCall | null;
  readonly cancel: Cancel;
}

const everyApplication: readonly LineKey[] = [null];

export class IdleBridge implements Waiter {
  readonly candidate: BridgeCandidate;
  readonly lines: readonly LineKey[];
  /** The number of its media process. */
  readonly process: number;
  /** In the order in which they became idle, or last let a call go by. */
  place = 0;
  question: Question | null = null;
  /** The calls that it was asked to take: it is asked once. */
  readonly asked = new WeakSet<OfferedCall>();

  /** `appIds` null: every application's. */
  constructor(candidate: BridgeCandidate, appIds: readonly ApplicationId[] | null, process: number) {
    this.candidate = candidate;
    this.process = process;
    this.lines = appIds ?? everyApplication;
  }
}

/** A call from its issuance to its end: it may want a bridge again. */
export class OfferedCall implements Waiter {
  readonly sessionId: SessionId;
  readonly lines: readonly LineKey[];
  /** In the order of their issuance. */
  readonly place: number;
  isWaiting = false;
  /** The bridge that is being asked to take it. */
  askedOf: IdleBridge | null = null;
  /** While it waits. */
  waitsFor: WaitsFor = 'bridge';
  /** The media processes that cannot carry it, by their numbers, and why. */
  readonly uncarriedBy = new Map<number, ReservationRefusal>();

  constructor({ sessionId, appId }: CallSession, place: number) {
    this.sessionId = sessionId;
    this.lines = [appId, null];
    this.place = place;
  }

  waitNoLonger(): void {
    this.isWaiting = false;
    this.waitsFor = 'bridge';
    this.uncarriedBy.clear();
    this.dropQuestion();
  }

  /** The bridge that is being asked still owes its answer, which has no effect. */
  dropQuestion(): void {
    const question = this.askedOf?.question ?? null;
    if (question !== null) question.call = null;
    this.askedOf = null;
  }
}
