/** The two sides of an assignment as the pool (bridge-pool.ts) keeps them: a bridge that is idle, and a call. */
import type { Cancel } from '../../lib/clock.ts';
import type { CallSession } from '../../model/call.ts';
import type { ApplicationId, SessionId } from '../../model/ids.ts';
import type { LineKey, Waiter } from '../devices/application-lines.ts';

/** Who stands behind an idle bridge. By being told, it may come to leave the pool in the same turn. */
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
  /** In the order in which they became idle, or last let a call go by. */
  place = 0;
  question: Question | null = null;
  /** The calls that it was asked to take: it is asked once. */
  readonly asked = new WeakSet<OfferedCall>();

  /** `appIds` null: every application's. */
  constructor(candidate: BridgeCandidate, appIds: readonly ApplicationId[] | null) {
    this.candidate = candidate;
    this.lines = appIds ?? everyApplication;
  }
}

/** From its issuance to its end: it may come to want a bridge again. */
export class OfferedCall implements Waiter {
  readonly sessionId: SessionId;
  readonly lines: readonly LineKey[];
  /** In the order of their making. */
  readonly place: number;
  isWaiting = false;
  /** The bridge that is being asked to take it. */
  askedOf: IdleBridge | null = null;

  constructor({ sessionId, appId }: CallSession, place: number) {
    this.sessionId = sessionId;
    this.lines = [appId, null];
    this.place = place;
  }
}
