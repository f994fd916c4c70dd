/** Offered calls and idle bridges as the pool sees them (bridge-pool.ts). Source: calls-and-media.md, Legs. */
import type { Cancel } from '../../lib/clock.ts';
import type { CallSession } from '../../model/call.ts';
import type { ApplicationId, SessionId } from '../../model/ids.ts';
import type { ReservationRefusal } from '../../model/media/picture.ts';
import type { LineKey, Waiter } from '../devices/application-lines.ts';

/** The reason that a call waits; `load`, `engine`: the media processes with idle bridges cannot carry it. */
export type WaitsFor = 'bridge' | ReservationRefusal;

export function isFree(bridge: IdleBridge): boolean {
  return bridge.question === null;
}

/** A bridge is asked once per call, and not while its media process cannot carry the call. */
export function mayBeAsked(bridge: IdleBridge, call: OfferedCall): boolean {
  return !bridge.asked.has(call) && !call.uncarriedBy.has(bridge.process);
}

/** The leg of an idle bridge. Either method may make it leave the pool in the same turn. */
export interface BridgeCandidate {
  ask(sessionId: SessionId): void;
  /** Assigns the call. False: it has ended meanwhile, and the bridge stays idle. */
  startCall(session: CallSession): boolean;
}

interface Question {
  /** Null: the call ended or found another bridge, and the answer is still pending. */
  call: OfferedCall | null;
  readonly cancel: Cancel;
}

const everyApplication: readonly LineKey[] = [null];

export class IdleBridge implements Waiter {
  readonly candidate: BridgeCandidate;
  readonly lines: readonly LineKey[];
  readonly process: number;
  /** By the time at which it became idle or last declined a call. */
  place = 0;
  question: Question | null = null;
  readonly asked = new WeakSet<OfferedCall>();

  constructor(candidate: BridgeCandidate, appIds: readonly ApplicationId[] | null, process: number) {
    this.candidate = candidate;
    this.process = process;
    this.lines = appIds ?? everyApplication;
  }
}

/** A call from issue to end, since it may need a bridge again. */
export class OfferedCall implements Waiter {
  readonly sessionId: SessionId;
  readonly lines: readonly LineKey[];
  readonly place: number;
  isWaiting = false;
  askedOf: IdleBridge | null = null;
  waitsFor: WaitsFor = 'bridge';
  /** Media processes that cannot carry it, by number, with the reason. */
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

  /** Abandons the pending question; its answer will have no effect. */
  dropQuestion(): void {
    const question = this.askedOf?.question ?? null;
    if (question !== null) question.call = null;
    this.askedOf = null;
  }
}
